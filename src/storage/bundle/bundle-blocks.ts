import type { BigIntStats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import type { Clock } from '../../lib/clock.ts';
import type { BlockContent, KnownStamp, StoreBlock } from '../tile-store.ts';
import type { BundleAccess } from './bundle-access.ts';
import { tileSetOf } from './bundle-file.ts';
import { type ListedBundle, listBundles, listFolders, listLevels } from './bundle-folders.ts';
import { type BundleLayout, bundleFolder } from './bundle-layout.ts';
import { pageStatistics } from './bundle-listing.ts';
import type { OpenBundle } from './bundle-reader.ts';
import { isNodeError } from './node-error.ts';

const EXTENSION = '.sqlite';
/** Bundles looked at side by side. */
const AT_ONCE = 16;
/** Milliseconds. File systems tell times apart no better than this, at worst. */
const GRAIN = 1000;
/** Bytes in which file systems commonly hand out room. */
const ROOM_GRAIN = 4096;

/** Bytes a file system gives for each block that `stat` counts. */
const BLOCK_BYTES = 512n;

const SUMMARY = `
  SELECT identity, (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS size
  FROM bundle`;

interface BundlePlace extends ListedBundle {
  readonly id: string;
  readonly folder: string;
  readonly z: number;
}

interface Stamped {
  readonly stamp: string;
  readonly changedAt: number;
}

export interface BundleBlocksParts {
  readonly layout: BundleLayout;
  readonly access: BundleAccess;
  readonly clock: Clock;
}

/**
 * Every bundle of the store, with its page table where the files have changed since `known`. The stamp is taken
 * before the table is read: a write in between shows as another stamp the next time.
 */
export async function* bundleBlocks(parts: BundleBlocksParts, known: KnownStamp): AsyncGenerator<StoreBlock> {
  let places: BundlePlace[] = [];
  for await (const place of placesBelow(parts.layout)) {
    places.push(place);
    if (places.length < AT_ONCE) continue;
    yield* await lookAt(places, parts, known);
    places = [];
  }
  yield* await lookAt(places, parts, known);
}

async function* placesBelow({ layers }: BundleLayout): AsyncGenerator<BundlePlace> {
  for await (const layer of listFolders(layers)) {
    for await (const set of listFolders(`${layers}/${layer}`)) {
      const setFolder = `${layers}/${layer}/${set}`;
      for await (const z of listLevels(setFolder)) {
        for await (const { bundleX, bundleY } of listBundles(setFolder, z)) {
          const folder = bundleFolder(setFolder, z, bundleX, bundleY);
          yield { id: folder.slice(layers.length + 1), folder, z, bundleX, bundleY };
        }
      }
    }
  }
}

async function lookAt(
  places: readonly BundlePlace[],
  parts: BundleBlocksParts,
  known: KnownStamp,
): Promise<StoreBlock[]> {
  const blocks = await Promise.all(places.map((place) => blockAt(place, parts, known)));
  return blocks.filter((block) => block !== null);
}

/** Null when there is no bundle, or none that can be read. */
async function blockAt(
  place: BundlePlace,
  { access, clock }: BundleBlocksParts,
  known: KnownStamp,
): Promise<StoreBlock | null> {
  const stamped = await stampOf(place.folder);
  if (!stamped) return null;
  const { id } = place;
  const { stamp, changedAt } = stamped;
  if (known(id) === stamp) return { id, stamp, content: null };
  const content = await access.read(place.folder, (bundle) => contentOf(place, bundle, changedAt));
  if (!content) return null;
  const folder = await statOrNull(place.folder);
  const diskBytes = content.diskBytes + Number((folder?.blocks ?? 0n) * BLOCK_BYTES);
  const settled = clock.now() - changedAt > GRAIN;
  return { id, stamp: settled ? stamp : null, content: { ...content, diskBytes } };
}

async function stampOf(folder: string): Promise<Stamped | null> {
  try {
    const name = (await readdir(folder)).find((entry) => entry.endsWith(EXTENSION));
    if (name === undefined) return null;
    const main = await stat(`${folder}/${name}`, { bigint: true });
    const log = await statOrNull(`${folder}/${name}-wal`);
    const newest = log && log.mtimeNs > main.mtimeNs ? log.mtimeNs : main.mtimeNs;
    return { stamp: `${name} ${printed(main)} ${printed(log)}`, changedAt: Number(newest / 1_000_000n) };
  } catch (error) {
    if (isNodeError(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  }
}

async function statOrNull(path: string): Promise<BigIntStats | null> {
  return stat(path, { bigint: true }).catch((error: unknown) => {
    if (isNodeError(error, 'ENOENT')) return null;
    throw error;
  });
}

/** A log without content comes and goes with whoever reads; it says nothing. */
function printed(status: BigIntStats | null): string {
  return status && status.size > 0n ? `${status.size}:${status.mtimeNs}` : '-';
}

function contentOf(place: BundlePlace, bundle: OpenBundle, changedAt: number): BlockContent | null {
  const summary = bundle.pages.database.prepare<[], { identity: string; size: number }>(SUMMARY).get();
  if (!summary) return null;
  const set = tileSetOf(summary.identity);
  const pages = bundle.pages.all().map((row) => pageStatistics(set, place.z, place, row));
  const diskBytes = Math.ceil(summary.size / ROOM_GRAIN) * ROOM_GRAIN;
  return { set, z: place.z, diskBytes, changedAt, pages };
}
