import { extname } from 'node:path';
import { TilewardenError } from '../domain/errors.ts';
import { PAGE_SIZE, type TileSetKey } from '../domain/tile-key.ts';
import { tileRangeOf } from '../domain/tile-range.ts';
import { intersectRects, rectContains, type TileRect } from '../domain/tile-rect.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { refuseUnfit } from './archive-metadata.ts';
import type { ArchiveContent, ArchiveWriter, ExportedTile } from './archive-writer.ts';
import { openGeopackageWriter } from './geopackage-writer.ts';
import { openMbtilesWriter } from './mbtiles-writer.ts';
import { openPmtilesWriter } from './pmtiles-writer.ts';

type OpenWriter = (target: string, content: ArchiveContent, purpose: string) => ArchiveWriter;

const WRITERS: Readonly<Record<string, OpenWriter>> = {
  '.mbtiles': openMbtilesWriter,
  '.pmtiles': openPmtilesWriter,
  '.gpkg': openGeopackageWriter,
};

export interface ExportProgress {
  readonly tiles: number;
  /** What pages of the area hold: a little more than will be exported when the area cuts pages. */
  readonly expected: number;
}

export interface ExportResult {
  readonly tiles: number;
  /** Of these an earlier attempt had written. */
  readonly present: number;
  readonly bytes: number;
}

export interface ExportOptions {
  readonly store: TileStore;
  readonly set: TileSetKey;
  readonly content: ArchiveContent;
  /** Its ending says what kind of archive it is. */
  readonly target: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ExportProgress) => void;
}

/** Copies what is cached into a file; nothing is fetched. An interrupted export goes on when it is started again. */
export async function exportTiles(options: ExportOptions): Promise<ExportResult> {
  const { store, set, content, target, signal, onProgress } = options;
  const open = writerFor(target, content);
  const { subset, zoomStart, zoomStop, bounds } = content;
  const rects = new Map(
    tileRangeOf(subset, zoomStart, zoomStop, bounds).levels.map(({ z, rect }) => [z, rect]),
  );
  const { expected, zooms } = await lookAtPages(store, set, rects);
  if (zooms.length === 0) throw new TilewardenError('request-invalid', 'Nothing of this is cached.');
  const cached = { ...content, zoomStart: Math.min(...zooms), zoomStop: Math.max(...zooms) };
  const writer = open(target, cached, JSON.stringify([set, zoomStart, zoomStop, bounds]));
  let [tiles, present] = [0, 0];
  try {
    for (const [z, rect] of rects) {
      for await (const batch of batchesOf(store, set, z, rect)) {
        signal.throwIfAborted();
        const missing = batch.filter((tile) => !writer.has(tile));
        writer.put(await readAll(store, set, missing));
        tiles += batch.length;
        present += batch.length - missing.length;
        onProgress({ tiles, expected });
      }
    }
  } catch (error) {
    writer.close();
    throw error;
  }
  return { tiles, present, bytes: writer.finish() };
}

/** Throws `request-invalid` when such a file cannot hold the tiles. */
export function writerFor(target: string, content: ArchiveContent): OpenWriter {
  const extension = extname(target).toLowerCase();
  const open = WRITERS[extension];
  if (!open) {
    throw new TilewardenError('request-invalid', `The file must end in ${Object.keys(WRITERS).join(', ')}.`);
  }
  refuseUnfit(extension, content);
  return open;
}

async function lookAtPages(
  store: TileStore,
  set: TileSetKey,
  rects: ReadonlyMap<number, TileRect>,
): Promise<{ readonly expected: number; readonly zooms: readonly number[] }> {
  const zooms = new Set<number>();
  let expected = 0;
  for await (const page of store.pages(set)) {
    const rect = rects.get(page.z);
    const [minX, minY] = [page.pageX * PAGE_SIZE, page.pageY * PAGE_SIZE];
    const whole = { minX, minY, maxX: minX + PAGE_SIZE - 1, maxY: minY + PAGE_SIZE - 1 };
    if (!rect || !intersectRects(rect, whole)) continue;
    zooms.add(page.z);
    expected += page.tiles;
  }
  return { expected, zooms: [...zooms] };
}

type Place = Pick<ExportedTile, 'z' | 'x' | 'y'>;

/** One transaction holds as many tiles. */
const BATCH = 1024;

async function* batchesOf(
  store: TileStore,
  set: TileSetKey,
  z: number,
  rect: TileRect,
): AsyncGenerator<readonly Place[]> {
  let batch: Place[] = [];
  for await (const { x, y } of store.tiles(set, z)) {
    if (!rectContains(rect, x, y)) continue;
    batch.push({ z, x, y });
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Tiles that have gone since they were listed, or are damaged, are left out. */
async function readAll(
  store: TileStore,
  set: TileSetKey,
  places: readonly Place[],
): Promise<readonly ExportedTile[]> {
  const found: ExportedTile[] = [];
  let page = { name: '', tiles: new Map<string, ExportedTile>() };
  for (const place of places) {
    const { z, x, y } = place;
    const name = `${Math.floor(x / PAGE_SIZE)}/${Math.floor(y / PAGE_SIZE)}`;
    if (store.pageWith && page.name !== name) {
      const tiles = await store.pageWith(set, place);
      page = { name, tiles: new Map(tiles.map((tile) => [`${tile.x}/${tile.y}`, tile])) };
    }
    const tile = store.pageWith ? page.tiles.get(`${x}/${y}`) : await store.get(set, place);
    if (tile) found.push({ z, x, y, bytes: tile.bytes });
  }
  return found;
}
