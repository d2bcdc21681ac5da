import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { BUNDLE, INDEX_END, TILE, version1, version2, X, Y } from '../../../test/fixtures/adopted-caches.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { builtInGridSets } from '../../domain/built-in-grid-sets.ts';
import { formatOf } from '../../domain/format.ts';
import { openCompactCache } from './open-compact-cache.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tilewarden-compact-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
});

function write(path: string, bytes: Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), bytes);
}

function read(options: { x?: number; z?: number; zoomOffset?: number; gridSet?: string } = {}) {
  const { x = X, z = 9, zoomOffset = 0, gridSet: wanted } = options;
  const cache = openCompactCache(
    {
      layout: 'arcgis-compact',
      file: undefined,
      folder,
      gridSet: wanted,
      origin: 'nw',
      zoomOffset,
      within: null,
    },
    { layer: 'states', gridSet: 'EPSG:900913' },
  );
  const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
  const format = formatOf('image/png');
  if (!gridSet || !format) throw new Error('no such grid set or format');
  return cache.read({ gridSet, format, parameters: null, values: new Map(), tile: { z, x, y: Y } });
}

describe('a compact cache', () => {
  it('a compact cache of version 2 has a tile where its index says, with the time of its bundle', async () => {
    write(`${BUNDLE}.bundle`, version2());
    expect(await read()).toEqual({ bytes: TILE, changedAt: expect.any(Number) });
    expect(await read({ x: X + 1 })).toBeNull();
    expect(await read({ x: X + 128 })).toBeNull();
  });

  it('a compact cache of version 1 has a tile where the file beside the bundle says', async () => {
    const [bundle, index] = version1();
    write(`${BUNDLE}.bundle`, bundle);
    expect(await read()).toBeNull();
    write(`${BUNDLE}.bundlx`, index);
    expect((await read())?.bytes).toEqual(TILE);
    expect(await read({ x: X + 1 })).toBeNull();
  });

  it('a compact cache may count its levels from another zoom', async () => {
    write(`${BUNDLE}.bundle`, version2());
    expect((await read({ z: 12, zoomOffset: 3 }))?.bytes).toEqual(TILE);
    expect(await read({ z: 12 })).toBeNull();
    expect(await read({ z: 9, zoomOffset: 10 })).toBeNull();
  });

  it('a compact cache holds one grid set', async () => {
    write(`${BUNDLE}.bundle`, version2());
    expect(await read({ gridSet: 'EPSG:3857' })).not.toBeNull();
    expect(await read({ gridSet: 'EPSG:4326' })).toBeNull();
  });

  it.each([
    ['has its tile behind the end of the file', version2(2 ** 39)],
    ['has a tile that is longer than the file', version2(INDEX_END + 4, 2 ** 24 - 1)],
    ['has its tile in the index', version2(64)],
    ['has a tile without bytes', version2(INDEX_END + 4, 0)],
    ['is cut in its index', version2().subarray(0, 500)],
    ['is cut in its header', version2().subarray(0, 30)],
    ['is empty', Buffer.alloc(0)],
    ['is something else', Buffer.alloc(INDEX_END + 100, 0xff)],
  ])('a compact cache has no tile in a bundle of version 2 that %s', async (_, bundle) => {
    write(`${BUNDLE}.bundle`, bundle);
    expect(await read()).toBeNull();
  });

  it.each([
    ['offset', ...version1(2 ** 39)],
    ['offset into the header', ...version1(4)],
    ['length', ...version1(60, 2 ** 32 - 1)],
    ['index that is cut', version1()[0], version1()[1].subarray(0, 100)],
    ['index that is none', version1()[0], Buffer.alloc(90_000, 0xff)],
  ])('a compact cache has no tile in a bundle of version 1 with a wrong %s', async (_, bundle, index) => {
    write(`${BUNDLE}.bundle`, bundle);
    write(`${BUNDLE}.bundlx`, index);
    expect(await read()).toBeNull();
  });

  it('a compact cache cannot be left by links', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'tilewarden-elsewhere-'));
    whenOver(() => rmSync(elsewhere, { recursive: true, force: true }));
    writeFileSync(join(elsewhere, 'bundle'), version2());
    mkdirSync(join(folder, 'L09'));
    symlinkSync(join(elsewhere, 'bundle'), join(folder, `${BUNDLE}.bundle`));
    expect(await read()).toBeNull();
  });
});
