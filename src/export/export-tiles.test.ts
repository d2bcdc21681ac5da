import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { findTile, PMTiles, zxyToTileId } from 'pmtiles';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { raise } from '../../test/contracts/tile-store-tools.ts';
import { type ExportedOrder, exportedPart, fileSource } from '../../test/fixtures/archives.ts';
import { layerNamed } from '../../test/fixtures/http-app.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import type { Layer } from '../domain/layer.ts';
import { PAGE_SIZE, type TileIndex } from '../domain/tile-key.ts';
import { rectOfTile } from '../domain/tile-rect.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import type { Store } from '../storage/store.ts';
import { type ExportProgress, exportTiles } from './export-tiles.ts';

const ZOOM = 6;
const SIDE = 2 ** ZOOM;
const SEA = Buffer.from('the same sea everywhere');

const bytesAt = (x: number, y: number) => (x % 4 === 3 ? SEA : Buffer.from(`tile ${x} ${y}`));

let folder: string;
let store: Store;
let layer: Layer;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tilewarden-export-'));
  layer = layerNamed('world');
  store = createMemoryStore({ type: 'memory' });
  await fill(ZOOM);
});

async function fill(zoom: number): Promise<void> {
  const { set } = exportedPart(layer, { layer: 'world' });
  const side = 2 ** zoom;
  for (let y = 0; y < side; y++) {
    const tiles = Array.from({ length: side }, (_, x) => ({ x, y, bytes: bytesAt(x, y), createdAt: 1 }));
    await store.put(set, zoom, tiles, await store.marks('world'));
  }
}

afterEach(() => rmSync(folder, { recursive: true, force: true }));

let expected: number;

async function exportTo(
  name: string,
  order: Partial<ExportedOrder> = {},
  signal = new AbortController().signal,
  watch: (progress: ExportProgress) => void = () => {},
) {
  const target = join(folder, name);
  const part = exportedPart(layer, { layer: 'world', zoomStart: 2, ...order });
  const result = await exportTiles({
    store,
    ...part,
    area: null,
    target,
    signal,
    onProgress: (progress) => {
      expected = progress.expected;
      watch(progress);
    },
  });
  return { target, ...result };
}

/** PMTiles 3, 3.1: tiles by their ids one behind the other, but for those whose content came before. */
async function isClustered(path: string): Promise<boolean> {
  const archive = new PMTiles(fileSource(path));
  const header = await archive.getHeader();
  let end = 0;
  let ordered = true;
  for (let id = zxyToTileId(ZOOM, 0, 0); id < zxyToTileId(ZOOM + 1, 0, 0); id++) {
    const entry = await entryOf(archive, id);
    ordered &&= entry.offset <= end;
    end = Math.max(end, entry.offset + entry.length);
  }
  return header.clustered && ordered && end === header.tileDataLength;
}

async function entryOf({ source, cache }: PMTiles, id: number) {
  const header = await cache.getHeader(source);
  let [offset, length] = [header.rootDirectoryOffset, header.rootDirectoryLength];
  for (;;) {
    const entry = findTile(await cache.getDirectory(source, offset, length, header), id);
    if (!entry) throw new Error(`tile ${id} is missing`);
    if (entry.runLength > 0) return entry;
    [offset, length] = [header.leafDirectoryOffset + entry.offset, entry.length];
  }
}

describe('an export', () => {
  it('an export to MBTiles has every tile at its place, and equal tiles once', async () => {
    const { target, tiles } = await exportTo('a.mbtiles');
    expect(tiles).toBe(SIDE * SIDE);
    const db = new Database(target, { readonly: true });
    const find = db.prepare<[number, number, number], { tile_data: Buffer }>(
      'SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?',
    );
    expect(find.get(ZOOM, 5, SIDE - 1 - 9)?.tile_data.toString()).toBe('tile 5 9');
    expect(find.get(ZOOM, 7, 0)?.tile_data.toString()).toBe(SEA.toString());
    const { n } = db.prepare<[], { n: number }>('SELECT count(*) AS n FROM images').get() ?? { n: 0 };
    expect(n).toBe((SIDE * SIDE * 3) / 4 + 1);
    const metadata = Object.fromEntries(
      db
        .prepare<[], { name: string; value: string }>('SELECT * FROM metadata')
        .all()
        .map((row) => [row.name, row.value]),
    );
    expect(metadata).toMatchObject({ format: 'png', minzoom: String(ZOOM), maxzoom: String(ZOOM) });
    expect(metadata.bounds).toMatch(/^-180,-85\.05\d+,180,85\.05\d+$/);
    db.close();
  });

  it('an export to PMTiles is read by its own reader, with leaf directories', async () => {
    await fill(ZOOM - 1);
    const { target } = await exportTo('a.pmtiles');
    const archive = new PMTiles(fileSource(target));
    const header = await archive.getHeader();
    expect(header).toMatchObject({
      minZoom: ZOOM - 1,
      maxZoom: ZOOM,
      tileType: 2,
      numAddressedTiles: 1.25 * SIDE * SIDE,
      clustered: true,
    });
    expect(header.leafDirectoryLength).toBeGreaterThan(0);
    for (const [z, x, y] of [
      [ZOOM - 1, 0, 0],
      [ZOOM - 1, 31, 31],
      [ZOOM, 5, 9],
      [ZOOM, 32, 31],
      [ZOOM, 63, 0],
    ] as const) {
      const tile = await archive.getZxy(z, x, y);
      expect(Buffer.from(tile?.data ?? new ArrayBuffer(0)).toString()).toBe(bytesAt(x, y).toString());
    }
    expect(await archive.getZxy(3, 0, 0)).toBeUndefined();
    expect(existsSync(`${target}.partial`)).toBe(false);
  });

  it('an export to PMTiles has its tiles in the order of the Hilbert curve, equal ones at the first place', async () => {
    const { target } = await exportTo('a.pmtiles');
    expect(await isClustered(target)).toBe(true);
  });

  it('an export to PMTiles stays in order when tiles were added before it is resumed', async () => {
    const late = { z: ZOOM, x: 5, y: 9 };
    const { set } = exportedPart(layer, { layer: 'world' });
    await store.edit(set, ZOOM, rectOfTile(late), { type: 'remove' });
    const interruption = new AbortController();
    const half = (SIDE * SIDE) / 2;
    const first = exportTo('a.pmtiles', {}, interruption.signal, ({ tiles }) => {
      if (tiles > half) interruption.abort();
    });
    await expect(first).rejects.toThrow();
    const tile = { ...late, bytes: Buffer.from('late'), createdAt: 1 };
    await store.put(set, ZOOM, [tile], await store.marks('world'));
    const { target, tiles } = await exportTo('a.pmtiles');
    expect(tiles).toBe(SIDE * SIDE);
    expect(await isClustered(target)).toBe(true);
    const archive = new PMTiles(fileSource(target));
    for (const [x, y, expected] of [
      [5, 9, 'late'],
      [6, 9, 'tile 6 9'],
      [50, 50, 'tile 50 50'],
    ] as const) {
      const found = await archive.getZxy(ZOOM, x, y);
      expect(Buffer.from(found?.data ?? new ArrayBuffer(0)).toString()).toBe(expected);
    }
  });

  it('an export to a GeoPackage counts rows from the top', async () => {
    const { target } = await exportTo('a.gpkg');
    const db = new Database(target, { readonly: true });
    const row = db
      .prepare('SELECT tile_data FROM tiles WHERE zoom_level = 6 AND tile_column = 5 AND tile_row = 9')
      .get();
    expect(String((row as { tile_data: Buffer }).tile_data)).toBe('tile 5 9');
    const matrix = db.prepare('SELECT matrix_width, matrix_height FROM gpkg_tile_matrix').get();
    expect(matrix).toEqual({ matrix_width: SIDE, matrix_height: SIDE });
    expect(db.pragma('application_id', { simple: true })).toBe(0x47504b47);
    db.close();
  });

  it('an export has only the selected tiles', async () => {
    const { tiles } = await exportTo('a.mbtiles', { bounds: [0, 0, 20037508, 20037508] });
    expect(tiles).toBe((SIDE * SIDE) / 4);
  });

  it('an export counts its tiles beforehand, also where the area cuts pages', async () => {
    const { tiles } = await exportTo('a.mbtiles', { bounds: [-1e6, 0, 5e6, 7e6] });
    expect(expected).toBe(tiles);
    expect(tiles).toBeLessThan((SIDE * SIDE) / 10);
  });

  it.each(['a.mbtiles', 'a.pmtiles', 'a.gpkg'])('a resumed export to %s is complete', async (name) => {
    const interruption = new AbortController();
    const target = join(folder, name);
    const part = exportedPart(layer, { layer: 'world', zoomStart: 2 });
    const onProgress = ({ tiles }: { tiles: number }) => void (tiles > SIDE * 20 && interruption.abort());
    const first = exportTiles({
      store,
      ...part,
      area: null,
      target,
      signal: interruption.signal,
      onProgress,
    });
    await expect(first).rejects.toThrow();
    expect(existsSync(target)).toBe(false);
    const { tiles, present } = await exportTo(name);
    expect(tiles).toBe(SIDE * SIDE);
    expect(present).toBeGreaterThan(SIDE * 20);
  });

  /** As a truncation does it: the number rises first, then the tiles go. */
  async function truncate(tile: TileIndex): Promise<void> {
    const { set } = exportedPart(layer, { layer: 'world' });
    const place = { gridSet: set.gridSet, z: tile.z, rect: rectOfTile(tile) };
    await raise(store, 'world', [place]);
    await store.edit(set, tile.z, rectOfTile(tile), { type: 'remove' });
  }

  it.each(['a.mbtiles', 'a.pmtiles', 'a.gpkg'])(
    'an interrupted export to %s does not go on with tiles that were truncated since',
    async (name) => {
      const interruption = new AbortController();
      const first = exportTo(name, {}, interruption.signal, () => interruption.abort());
      await expect(first).rejects.toThrow();
      await truncate({ z: ZOOM, x: 0, y: 0 });
      const { tiles, present } = await exportTo(name);
      expect([tiles, present]).toEqual([SIDE * SIDE - 1, 0]);
    },
  );

  it.each([
    ['a.mbtiles', "SELECT value FROM metadata WHERE name = 'minzoom'"],
    ['a.gpkg', 'SELECT min(zoom_level) FROM gpkg_tile_matrix'],
  ])('an interrupted export to %s describes zooms that were cached since', async (name, lowest) => {
    const interruption = new AbortController();
    const first = exportTo(name, {}, interruption.signal, () => interruption.abort());
    await expect(first).rejects.toThrow();
    await fill(ZOOM - 1);
    const { target } = await exportTo(name);
    const db = new Database(target, { readonly: true });
    expect(Number(db.prepare(lowest).pluck().get())).toBe(ZOOM - 1);
    db.close();
  });

  it.each(['a.mbtiles', 'a.pmtiles', 'a.gpkg'])(
    'an export to %s copies pages again of which tiles are truncated while it runs, and no others',
    async (name) => {
      const read = vi.spyOn(store, 'get');
      whenOver(() => read.mockRestore());
      const [gone, kept] = [
        { z: ZOOM, x: 40, y: 40 },
        { z: ZOOM, x: 41, y: 40 },
      ];
      let batches = 0;
      const part = exportedPart(layer, { layer: 'world' });
      const { tiles } = await exportTiles({
        ...part,
        store,
        area: null,
        target: join(folder, name),
        signal: new AbortController().signal,
        onProgress: () => {},
        async admit() {
          if (++batches === 4) await truncate(gone);
        },
      });
      expect(tiles).toBe(SIDE * SIDE - 1);
      const reads = read.mock.calls.length;
      expect(await store.get(part.set, kept)).not.toBeNull();
      expect(reads).toBeGreaterThan(SIDE ** 2);
      if (name !== 'a.pmtiles') expect(reads).toBe(SIDE ** 2 + PAGE_SIZE ** 2 - 1);
      if (name === 'a.pmtiles') return;
      const db = new Database(join(folder, name), { readonly: true });
      const row = name === 'a.gpkg' ? gone.y : SIDE - 1 - gone.y;
      const at = db
        .prepare('SELECT count(*) FROM tiles WHERE tile_column IN (?, ?) AND tile_row = ?')
        .pluck();
      expect(at.get(gone.x, kept.x, row)).toBe(1);
      db.close();
    },
  );

  it('an export ends though changes are reported in its area all the time', async () => {
    const { set, content } = exportedPart(layer, { layer: 'world' });
    const spot = { gridSet: set.gridSet, z: ZOOM, rect: rectOfTile({ x: 3, y: 3 }) };
    const { tiles } = await exportTiles({
      set,
      content,
      store,
      area: null,
      target: join(folder, 'a.mbtiles'),
      signal: new AbortController().signal,
      onProgress: () => {},
      async admit() {
        await raise(store, 'world', [spot]);
      },
    });
    expect(tiles).toBe(SIDE * SIDE);
  });

  it('an export refuses to replace a file, or to go on with a different one', async () => {
    await exportTo('a.mbtiles');
    await expect(exportTo('a.mbtiles')).rejects.toThrow(/already exists/);
    await expect(exportTo('a.tif')).rejects.toThrow(/must end in \.mbtiles, \.pmtiles, \.gpkg/);
    await expect(exportTo('b.gpkg', { gridSet: 'EPSG:4326' })).rejects.toThrow(
      /No tile of this selection is cached/,
    );
    await expect(exportTo('b.mbtiles', { gridSet: 'EPSG:4326' })).rejects.toThrow(/GeoPackage/);
  });
});
