import { basename, dirname } from 'node:path';
import { isTilewardenError } from '../../domain/errors.ts';
import type { Adoption } from './adopt-options.ts';
import { locateFile, type OpenedFile, type RootedFolder, unreadable, withFile } from './rooted-folder.ts';
import { openMember, readZipDirectory, unusablePackage, type ZipMember } from './zip-members.ts';

type Bundles = ReadonlyMap<string, ZipMember>;

/** A file of a bundle; `.bundlx`: the index of an older one. `.tpk` and `.tpkx` name the folder above `L00` differently. */
const BUNDLE = /^(.*?)(L\d\d\/R[\da-f]{4,8}C[\da-f]{4,8}\.bundl[ex])$/i;
/** The files that describe a package, and the limit of their size. */
const DESCRIBING = ['root.json', 'conf.xml', 'conf.cdi'];
const MAX_FILE_BYTES = 16 * 1024 ** 2;

/**
 * The bundles of an ArcGIS tile package (`.tpk`, `.tpkx`), by their paths below the folder of the levels. The directory
 * is read once, and again after a failed read or a change of the file: a fault of the package stays until such a change.
 */
export function openTilePackage(file: string, within: Adoption['within']): Pick<RootedFolder, 'read'> {
  const locate = locateFile(file, within);
  let known: { readonly stamp: string; readonly bundles: Promise<Bundles> } | null = null;

  function bundlesOf(zip: OpenedFile): Promise<Bundles> {
    const stamp = `${zip.size} ${zip.changedAt}`;
    if (known?.stamp === stamp) return known.bundles;
    const bundles = readBundles(zip);
    known = { stamp, bundles };
    bundles.catch((error: unknown) => {
      if (!isTilewardenError(error) && known?.bundles === bundles) known = null;
    });
    return bundles;
  }

  return {
    async read(name, use) {
      const path = await locate();
      try {
        return await withFile(dirname(path), path, async (zip) => {
          const member = (await bundlesOf(zip)).get(name.toLowerCase());
          return member ? use(await openMember(zip, member)) : null;
        });
      } catch (cause) {
        throw isTilewardenError(cause) ? cause : unreadable(cause);
      }
    },
  };
}

async function readBundles(zip: OpenedFile): Promise<Bundles> {
  const bundles = new Map<string, ZipMember>();
  const folders = new Set<string>();
  for (const member of await readZipDirectory(zip)) {
    const [, folder, path] = BUNDLE.exec(member.name) ?? [];
    if (folder === undefined || path === undefined) continue;
    if (!member.isStored) throw compressed(member);
    bundles.set(path.toLowerCase(), member);
    folders.add(folder);
  }
  if (bundles.size === 0) throw unusablePackage('has no bundles, such as L00/R0000C0000.bundle');
  if (folders.size > 1)
    throw unusablePackage(`has the bundles of several caches: ${[...folders].join(', ')}`);
  return bundles;
}

/** Files of a package that describe it, by their names in lower case and without folders. Throws `store-failed`. */
export async function readPackageFiles(file: string): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const place = await locateFile(file, null)();
  await withFile(dirname(place), place, async (zip) => {
    for (const member of await readZipDirectory(zip)) {
      const name = basename(member.name).toLowerCase();
      if (!DESCRIBING.includes(name)) continue;
      if (!member.isStored) throw compressed(member);
      if (member.size > MAX_FILE_BYTES) throw unusablePackage(`has a file ${name} of ${member.size} bytes`);
      const bytes = await (await openMember(zip, member)).part(0, member.size);
      if (bytes) files.set(name, bytes);
    }
    return null;
  }).catch((cause: unknown) => {
    throw isTilewardenError(cause) ? cause : unreadable(cause);
  });
  return files;
}

function compressed({ name }: ZipMember): Error {
  return unusablePackage(`has ${name} compressed: pack it again with stored members, e.g. by zip -0 -r`);
}
