import { existsSync, rmSync } from 'node:fs';
import { dirname, extname } from 'node:path';
import Database from 'better-sqlite3';
import { zxyToTileId } from 'pmtiles';
import type { Polygon } from '../domain/bounds.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Format } from '../domain/format.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { tileRangeOf } from '../domain/grid-subset.ts';
import { BLOCK_SIZE, PAGE_SIZE, type TileIndex, type TileSetKey } from '../domain/tile-key.ts';
import {
  blockAt,
  intersectRects,
  rectContains,
  sizeOfRect,
  type TileRect,
  WHOLE_LEVEL,
} from '../domain/tile-rect.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { pagesIn, presentTiles, readPage, tilesSince } from '../storage/read-tiles.ts';
import type { Store } from '../storage/store.ts';
import {
  type ArchiveContent,
  type ArchiveWriter,
  type ExportedTile,
  refuseUnfit,
} from './archive-metadata.ts';
import { openGeopackageWriter } from './geopackage-writer.ts';
import { openMbtilesWriter } from './mbtiles-writer.ts';
import { openPmtilesWriter } from './pmtiles-writer.ts';
import type { Purpose } from './staging.ts';
import { packVectorTile } from './vector-layers.ts';

type OpenWriter = (target: string, content: ArchiveContent, purpose: Purpose) => ArchiveWriter;

const WRITERS: Readonly<Record<string, OpenWriter>> = {
  '.mbtiles': openMbtilesWriter,
  '.pmtiles': openPmtilesWriter,
  '.gpkg': openGeopackageWriter,
};

export interface ExportProgress {
  readonly tiles: number;
  readonly expected: number;
}

export interface ExportResult {
  readonly tiles: number;
  /** Number written by an earlier attempt. */
  readonly present: number;
  readonly bytes: number;
}

interface ExportArea {
  /** In the CRS of the grid set. */
  readonly polygons: readonly Polygon[];
  /** The tiles of a rectangle that the polygons touch. */
  touched(z: number, rect: TileRect): Iterable<TileRect>;
}

export interface ExportOptions {
  readonly store: Store;
  readonly set: TileSetKey;
  readonly content: ArchiveContent;
  /** Narrows the bounds. */
  readonly area: ExportArea | null;
  /** Its extension selects the kind of archive. */
  readonly target: string;
  /** The layers of vector tiles, as in TileJSON; empty: read from the tiles. */
  readonly vectorLayers?: readonly unknown[];
  /** Called before each batch; rejects to stop the export. */
  readonly admit?: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ExportProgress) => void;
}

/**
 * Copies cached tiles into a file; nothing is fetched. Pages with tiles that are truncated or reported as changed in
 * the meantime are copied again. An interrupted export continues later, unless there were such tiles or other zooms.
 */
export async function exportTiles(options: ExportOptions): Promise<ExportResult> {
  const { content, target } = options;
  const open = writerFor(target, content);
  const pages = openPageList(`${target}.partial-pages`, content.subset.gridSet);
  try {
    return await exportPages(options, pages, open);
  } finally {
    pages.close();
  }
}

async function exportPages(options: ExportOptions, pages: PageList, open: OpenWriter): Promise<ExportResult> {
  const { store, set, content, area, target, signal, onProgress } = options;
  const { subset, zoomStart, zoomStop, bounds } = content;
  const { levels } = tileRangeOf(subset, zoomStart, zoomStop, bounds);
  const begun = await store.marks(set.layer);
  const since = await tilesSince(store, set, levels);
  const rects = new Map(levels.map(({ z, rect }) => [z, rect]));
  const selection = createSelection(rects, area);
  const { expected, zooms } = await scanPages(store, set, selection, pages);
  if (zooms.length === 0) throw nothingCached();
  const cached = { ...content, zoomStart: Math.min(...zooms), zoomStop: Math.max(...zooms) };
  const { layer, gridSet, format, parametersId } = set;
  const names = { layer, gridSet, format, parametersId };
  const what = JSON.stringify([names, zoomStart, zoomStop, bounds, area?.polygons]);
  const writer = open(target, cached, { what, since: `${since} ${cached.zoomStart}-${cached.zoomStop}` });
  let [tiles, present] = [0, 0];
  try {
    for await (const batch of batchesOf(store, set, pages.inOrder(), selection)) {
      signal.throwIfAborted();
      await options.admit?.();
      const known = batch.filter((tile) => writer.has(tile)).length;
      // All or nothing: a writer that keeps an order needs a batch from its beginning.
      if (known < batch.length) writer.put(await readAll(store, set, batch, content.format));
      tiles += batch.length;
      present += known;
      onProgress({ tiles, expected });
    }
    await copyChanged(options, pages, selection, writer, begun);
    tiles = writer.count();
    if (tiles === 0) throw nothingCached();
    return { tiles, present, bytes: await writer.finish(options.vectorLayers ?? []) };
  } catch (error) {
    writer.close();
    throw error;
  }
}

function nothingCached(): TilewardenError {
  return new TilewardenError('request-invalid', 'No tile of this selection is cached.');
}

/** Rounds of copying again: each is shorter than the one before, unless changes never end. */
const MAX_ROUNDS = 4;

/** Copies changed pages again. The file then has the tiles of the start of the last round, or later ones. */
async function copyChanged(
  { store, set, content, signal, admit }: ExportOptions,
  pages: PageList,
  selection: Selection,
  writer: ArchiveWriter,
  begun: number,
): Promise<void> {
  let before = begun;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const isChanged = createChangeCheck(store, set, before);
    before = await store.marks(set.layer);
    const changed: Page[] = [];
    let isRewound = false;
    for (const page of pages.inOrder()) {
      signal.throwIfAborted();
      const here = blockAt(page.pageX, page.pageY, PAGE_SIZE);
      if (!isRewound && !(await isChanged(page.z, here))) continue;
      const rects: readonly TileRect[] = isRewound ? [] : selection(page);
      for (const rect of rects) isRewound = writer.forget(page.z, rect) || isRewound;
      changed.push(page);
    }
    if (changed.length === 0) return;
    for await (const batch of batchesOf(store, set, changed, selection)) {
      signal.throwIfAborted();
      await admit?.();
      writer.put(await readAll(store, set, batch, content.format));
    }
  }
}

/** Limit of levels, blocks and pages whose check is remembered. */
const MAX_RECTS = 4096;

/** Whether tiles of a page were truncated or reported as changed after a generation: checks levels and blocks first. */
function createChangeCheck(store: Store, set: TileSetKey, after: number) {
  const known = new RecentMap<string, boolean>(MAX_RECTS);
  async function isLater(z: number, rect: TileRect): Promise<boolean> {
    const name = `${z} ${rect.minX} ${rect.minY} ${rect.maxX}`;
    const later =
      known.get(name) ?? (await store.marks(set.layer, { gridSet: set.gridSet, z, rect })) > after;
    known.set(name, later, 1);
    return later;
  }
  return async (z: number, page: TileRect): Promise<boolean> => {
    const block = blockAt(Math.floor(page.minX / BLOCK_SIZE), Math.floor(page.minY / BLOCK_SIZE), BLOCK_SIZE);
    return (await isLater(z, WHOLE_LEVEL)) && (await isLater(z, block)) && (await isLater(z, page));
  };
}

/** Throws `request-invalid` if a file of this kind cannot contain the tiles. */
export function writerFor(target: string, content: ArchiveContent): OpenWriter {
  const extension = extname(target).toLowerCase();
  const open = WRITERS[extension];
  if (!open) {
    throw new TilewardenError('request-invalid', `The file must end in ${Object.keys(WRITERS).join(', ')}.`);
  }
  refuseUnfit(extension, content);
  const folder = dirname(target);
  if (!existsSync(folder)) throw new TilewardenError('request-invalid', `There is no folder ${folder}.`);
  return open;
}

type Selection = (page: Page) => readonly TileRect[];

const isIn = (rects: readonly TileRect[], x: number, y: number) =>
  rects.some((rect) => rectContains(rect, x, y));

function createSelection(rects: ReadonlyMap<number, TileRect>, area: ExportArea | null): Selection {
  return ({ z, pageX, pageY }) => {
    const rect = rects.get(z);
    const within = rect ? intersectRects(rect, blockAt(pageX, pageY, PAGE_SIZE)) : null;
    return within === null ? [] : [...(area?.touched(z, within) ?? [within])];
  };
}

async function scanPages(
  store: Store,
  set: TileSetKey,
  selection: Selection,
  pages: PageList,
): Promise<{ readonly expected: number; readonly zooms: readonly number[] }> {
  const zooms = new Set<number>();
  let expected = 0;
  for await (const { z, pageX, pageY, tiles } of pagesIn(store, { set })) {
    const rects = selection({ z, pageX, pageY });
    if (rects.length === 0) continue;
    const page = blockAt(pageX, pageY, PAGE_SIZE);
    const isWhole = rects.reduce((sum, rect) => sum + sizeOfRect(rect), 0) === sizeOfRect(page);
    const count = isWhole
      ? tiles
      : (await presentTiles(store, set, z, page, 0)).filter(({ x, y }) => isIn(rects, x, y)).length;
    if (count === 0) continue;
    zooms.add(z);
    pages.add({ z, pageX, pageY });
    expected += count;
  }
  return { expected, zooms: [...zooms] };
}

/** A batch ends with the page that brings it to this number of tiles. */
const BATCH_TILES = 1024;

/** The selected tiles of whole pages, in the order of the pages. */
async function* batchesOf(
  store: Store,
  set: TileSetKey,
  pages: Iterable<Page>,
  selection: Selection,
): AsyncGenerator<readonly TileIndex[]> {
  let batch: TileIndex[] = [];
  for (const { z, pageX, pageY } of pages) {
    const page = blockAt(pageX, pageY, PAGE_SIZE);
    const rects = selection({ z, pageX, pageY });
    const tiles = await presentTiles(store, set, z, page, 0);
    batch.push(...tiles.filter(({ x, y }) => isIn(rects, x, y)).map(({ x, y }) => ({ z, x, y })));
    if (batch.length < BATCH_TILES) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Tiles that have gone since they were listed, or are damaged, are left out. */
async function readAll(
  store: Store,
  set: TileSetKey,
  places: readonly TileIndex[],
  format: Format,
): Promise<readonly ExportedTile[]> {
  const result: ExportedTile[] = [];
  let page = { name: '', tiles: new Map<string, { readonly bytes: Buffer }>() };
  for (const place of places) {
    const { z, x, y } = place;
    const name = `${z}/${Math.floor(x / PAGE_SIZE)}/${Math.floor(y / PAGE_SIZE)}`;
    if (page.name !== name) {
      const tiles = await readPage(store, set, place);
      page = { name, tiles: new Map(tiles.map((tile) => [`${tile.x}/${tile.y}`, tile])) };
    }
    const tile = page.tiles.get(`${x}/${y}`);
    if (tile) result.push({ z, x, y, ...(await archived(tile.bytes, format)) });
  }
  return result;
}

async function archived(bytes: Buffer, { kind }: Format): Promise<Pick<ExportedTile, 'bytes' | 'layers'>> {
  return kind === 'opaque' ? await packVectorTile(bytes) : { bytes, layers: [] };
}

interface Page {
  readonly z: number;
  readonly pageX: number;
  readonly pageY: number;
}

type PageList = ReturnType<typeof openPageList>;

/** The deepest zoom at which the library's numbers are exact. */
const MAX_CURVE_ZOOM = 26;

/**
 * The pages to export, zoom by zoom along the Hilbert curve of PMTiles: the tiles of an aligned square are contiguous
 * on it, so that pages in order are tiles in order. The list is a file: a cache may have millions of pages.
 */
function openPageList(path: string, gridSet: GridSet) {
  rmSync(path, { force: true });
  const db = new Database(path);
  db.pragma('journal_mode = OFF');
  db.pragma('synchronous = OFF');
  db.exec(`CREATE TABLE pages (z INTEGER, place INTEGER, pageX INTEGER, pageY INTEGER,
    PRIMARY KEY (z, place, pageX, pageY)) WITHOUT ROWID; BEGIN`);
  const add = db.prepare('INSERT OR IGNORE INTO pages VALUES (?, ?, ?, ?)');
  return {
    add: ({ z, pageX, pageY }: Page) =>
      void add.run(z, placeOnCurve(gridSet, { z, pageX, pageY }), pageX, pageY),
    inOrder: () => db.prepare<[], Page>('SELECT z, pageX, pageY FROM pages ORDER BY z, place').iterate(),
    close() {
      db.close();
      rmSync(path, { force: true });
    },
  };
}

function placeOnCurve({ levels }: GridSet, { z, pageX, pageY }: Page): number {
  const { columns = 1, rows = 1 } = levels[z] ?? {};
  const zoom = Math.max(0, Math.ceil(Math.log2(Math.max(columns, rows) / PAGE_SIZE)));
  const scale = 2 ** Math.max(0, zoom - MAX_CURVE_ZOOM);
  return zxyToTileId(Math.min(zoom, MAX_CURVE_ZOOM), Math.floor(pageX / scale), Math.floor(pageY / scale));
}
