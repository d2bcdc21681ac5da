import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { BUNDLE, storedZip, TILE, version1, version2, X, Y } from '../../../test/fixtures/adopted-caches.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { builtInGridSets } from '../../domain/built-in-grid-sets.ts';
import { formatOf } from '../../domain/format.ts';
import { openCompactCache } from './open-compact-cache.ts';
import { readPackageFiles } from './tile-package.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tilewarden-package-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
  file = join(folder, 'x.tpkx');
});

function open({ within = null }: { within?: readonly string[] | null } = {}) {
  const options = {
    layout: 'arcgis-compact',
    file,
    gridSet: undefined,
    origin: 'nw',
    zoomOffset: 0,
    within,
  } as const;
  const cache = openCompactCache(options, { layer: 'roads', gridSet: 'EPSG:900913' });
  const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
  const format = formatOf('image/png');
  if (!gridSet || !format) throw new Error('no such grid set or format');
  return async (x = X) => {
    const tile = { z: 9, x, y: Y };
    const read = await cache.read({ gridSet, format, parameters: null, values: new Map(), tile });
    return read?.bytes.toString() ?? null;
  };
}

const read = () => open()();
const TPKX = { 'root.json': '{}', [`tile/${BUNDLE}.bundle`]: version2() };

describe('an ArcGIS tile package', () => {
  it('a .tpkx has a tile where the index of its bundle says', async () => {
    writeFileSync(file, storedZip(TPKX));
    const tile = open();
    expect(await tile()).toBe(String(TILE));
    expect(await tile(X + 1)).toBeNull();
    expect(await tile(X + 128)).toBeNull();
  });

  it('a .tpk has bundles of version 1 with their indexes, in whatever folder', async () => {
    const [bundle, index] = version1();
    const path = `v101/Roads/_alllayers/${BUNDLE}`;
    writeFileSync(file, storedZip({ [`${path}.bundle`]: bundle, [`${path}.bundlx`]: index }));
    expect(await read()).toBe(String(TILE));
  });

  it.each([{ isWide: true }, { comment: 'PK\x05\x06 not the end' }])(
    'a package is read if its directory has %s',
    async (variant) => {
      writeFileSync(file, storedZip(TPKX, variant));
      expect(await read()).toBe(String(TILE));
    },
  );

  it('a package that is replaced is read as it is now', async () => {
    const tile = open();
    writeFileSync(file, storedZip({ other: 'x' }));
    await expect(tile()).rejects.toThrow('has no bundles');
    writeFileSync(file, storedZip({ more: 'before', ...TPKX }));
    utimesSync(file, 1, 2_000_000_000);
    expect(await tile()).toBe(String(TILE));
  });

  it.each([
    ['compressed members', storedZip(TPKX, { method: 8 }), 'compressed: pack it again with stored members'],
    ['members behind its end', storedZip(TPKX, { shift: 1e9 }), 'damaged'],
    ['members elsewhere', storedZip(TPKX, { shift: 1 }), 'damaged'],
    ['fewer members than it says', storedZip(TPKX, { count: 3 }), 'damaged'],
    ['too many members', storedZip(TPKX, { count: 2 ** 40, isWide: true }), 'at most 200000'],
    ['a directory behind its end', storedZip(TPKX).subarray(2000), 'damaged'],
    ['no end', storedZip(TPKX).subarray(0, -1), 'is not a ZIP file'],
    ['no bytes', Buffer.alloc(0), 'is not a ZIP file'],
    ['no bundles', storedZip({ 'tile/L00/R00000000/C00000000.png': 'x' }), 'has no bundles'],
    [
      'the bundles of two caches',
      storedZip({ ...TPKX, [`other/${BUNDLE}.bundle`]: version2() }),
      'the bundles of several caches: tile/, other/',
    ],
  ])('a package with %s is refused', async (_, zip, why) => {
    writeFileSync(file, zip);
    await expect(read()).rejects.toThrow(why);
  });

  it('a tile that its index places outside its bundle is absent, though the package goes on', async () => {
    const files = { [`tile/${BUNDLE}.bundle`]: version2(128 * 128 * 8 + 64 + 5), 'tile/next': TILE };
    writeFileSync(file, storedZip(files));
    expect(await read()).toBeNull();
  });

  it('a package that is not there, or outside the folders that are allowed, cannot be read', async () => {
    await expect(read()).rejects.toThrow('could not be read');
    const elsewhere = mkdtempSync(join(tmpdir(), 'tilewarden-elsewhere-'));
    whenOver(() => rmSync(elsewhere, { recursive: true, force: true }));
    writeFileSync(join(elsewhere, 'x.tpkx'), storedZip(TPKX));
    symlinkSync(join(elsewhere, 'x.tpkx'), file);
    expect(await read()).toBe(String(TILE));
    await expect(open({ within: [folder] })()).rejects.toThrow('could not be read');
  });

  it('the describing files of a package are read through a link to its folder', async () => {
    mkdirSync(join(folder, 'mnt'));
    symlinkSync(join(folder, 'mnt'), join(folder, 'data'));
    writeFileSync(join(folder, 'mnt', 'a.tpkx'), storedZip(TPKX));
    const files = await readPackageFiles(join(folder, 'data', 'a.tpkx'));
    expect([...files]).toEqual([['root.json', Buffer.from('{}')]]);
  });

  it('the describing files of a package that cannot be read are refused as such', async () => {
    mkdirSync(file);
    await expect(readPackageFiles(join(file, 'x'))).rejects.toMatchObject({ code: 'store-failed' });
  });
});
