/** How many tiles of a tile set are cached at each zoom, and where. */
import { z } from 'zod';
import { boundLayer, type Catalog } from '../../catalog/catalog.ts';
import { type Bounds, coordsOf } from '../../domain/bounds.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { boundsOfRect, tilesOfBounds } from '../../domain/grid-set.ts';
import { coverageAt } from '../../domain/grid-subset.ts';
import { PAGE_SIZE, type TileIndex, tileSetId, tileSetNames } from '../../domain/tile-key.ts';
import { blockAt, countTiles, intersectRects, sizeOfRect, type TileRect } from '../../domain/tile-rect.ts';
import { freshSince, isFresh } from '../../pipeline/freshness.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import type { Amount } from '../../quota/usage-report.ts';
import { requireReadable } from '../auth/layer-visibility.ts';
import { parametersOf } from '../services/kvp.ts';
import { indexOf } from '../services/tiles.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { amount, bounds, boundsInQuery, count, tileSetName } from './values.ts';

export const tileSet = { layer: z.string(), ...tileSetName };

/** The layer's parameters are further query fields. */
export const tileSetQuery = z.object({
  format: z.string().optional().describe("Media type or extension; the layer's first when absent"),
});

export const zoomCoverageResponse = z.object({
  ...tileSet,
  zooms: z.array(z.object({ z: z.number().int(), ...amount, offered: count })),
});

/** Upper limits of the age classes, in seconds; one more class has the older tiles. */
const AGE_STEPS = [3600, 86_400, 7 * 86_400, 30 * 86_400] as const;

/** The values of the cells; `coverageResponse` describes them. */
const COVERAGE_KINDS = ['age', 'share', 'state'] as const;
const coverageKind = z.enum(COVERAGE_KINDS);

export const zoomCoverageQuery = tileSetQuery.extend({
  bounds: boundsInQuery.exactOptional().describe("minX,minY,maxX,maxY in the grid set's CRS; default: all"),
});

export const coverageQuery = zoomCoverageQuery.extend({
  shows: coverageKind.exactOptional().describe('Default: age if a cell is one tile, otherwise share'),
});

export const coverageResponse = z.object({
  ...tileSet,
  z: z.number().int(),
  shows: coverageKind
    .optional()
    .describe(
      'age of the last change in a cell: 0 no tiles, 1 oldest to 5 youngest, see ageSteps; share: percentage of cached tiles; state: 0 no tiles, 1 all stale, 2 some stale, 3 none stale',
    ),
  exact: z.boolean().optional().describe('False: too many tiles to check; pages count by their last change'),
  ageSteps: z.array(z.number()).optional().describe('Seconds'),
  cell: z.number().int().describe('Tiles along a side of a cell'),
  minX: z.number().int().optional(),
  minY: z.number().int().optional(),
  columns: z.number().int(),
  rows: z.number().int(),
  bounds: bounds.nullable().describe('Of all cells together'),
  runs: z
    .array(z.number().int())
    .describe('Value and number of cells in turn (run-length encoding), row by row from the top left'),
});

export type OfTileSet = Call<{ params: 'layer' | 'gridSet'; query: typeof tileSetQuery }>;

export async function showZooms(call: OfTileSet & Call<{ query: typeof zoomCoverageQuery }>, deps: ApiDeps) {
  const tiles = await requestedTileSet(call, deps.catalog);
  const { zoomStart, zoomStop } = tiles.subset;
  const box = call.query.bounds ?? null;
  const id = tileSetId(tiles.set);
  const levels = box
    ? []
    : (await tiles.bound.store.usage()).levels.filter((level) => tileSetId(level.set) === id);
  const zooms: (Amount & { readonly z: number; readonly offered: bigint })[] = [];
  for (let z = zoomStart; z <= zoomStop; z++) {
    const offered = coverageAt(tiles.subset, z);
    const rect = offered && requestedRect(tiles, z, box);
    const inBox = box && rect && offered && (await amountInside(tiles, z, rect, offered));
    const { tiles: stored, bytes } = inBox ?? levels.find((level) => level.z === z) ?? { tiles: 0, bytes: 0 };
    zooms.push({ z, tiles: stored, bytes, offered: rect ? countTiles(rect) : 0n });
  }
  return { ...tileSetNames(tiles.set), zooms };
}

/** Counts whole pages; one that is partly inside counts by the share inside. */
async function amountInside(
  { bound, set }: ResolvedTileSet,
  z: number,
  rect: TileRect,
  offered: TileRect,
): Promise<Amount> {
  const sum = { tiles: 0, bytes: 0 };
  for await (const pages of bound.store.usage({ set, z, rect }))
    for (const { pageX, pageY, tiles, bytes } of pages) {
      const share = shareInside(rect, blockAt(pageX, pageY, PAGE_SIZE), offered);
      sum.tiles += Math.round(tiles * share);
      sum.bytes += Math.round(bytes * share);
    }
  return sum;
}

export async function showPlaces(
  call: OfTileSet & Call<{ params: 'z'; query: typeof coverageQuery }>,
  deps: ApiDeps,
) {
  const tiles = await requestedTileSet(call, deps.catalog);
  const z = indexOf('zoom', call.params.z);
  const rect = requestedRect(tiles, z, call.query.bounds ?? null);
  const set = tileSetNames(tiles.set);
  if (!rect) return { ...set, z, cell: 1, columns: 0, rows: 0, runs: [], bounds: null };
  const cell = cellSizeFor(rect);
  const shows = call.query.shows ?? (cell === 1 ? 'age' : 'share');
  const plan = { rect, cell, shows, now: deps.clock.now() };
  const isListed = cell === 1 || (shows === 'state' && (await hasFew(tiles, z, rect)));
  const parts = isListed ? tileParts(tiles, z, plan) : pageParts(tiles, z, plan);
  const exact = isListed || shows !== 'state';
  return { ...set, z, shows, exact, ageSteps: AGE_STEPS, ...(await coverageGrid(tiles, z, plan, parts)) };
}

/** Tiles that are listed one by one to find their state. */
const MAX_LISTED = 20_000;

async function hasFew({ bound, set }: ResolvedTileSet, z: number, rect: TileRect): Promise<boolean> {
  let count = 0;
  for await (const pages of bound.store.usage({ set, z, rect })) {
    for (const { tiles } of pages) count += tiles;
    if (count > MAX_LISTED) return false;
  }
  return true;
}

async function* pageParts(
  { set, bound }: ResolvedTileSet,
  z: number,
  { rect, now }: CellPlan,
): AsyncGenerator<readonly CountedPart[]> {
  const since = freshSince(bound.layer, z, now);
  for await (const pages of bound.store.usage({ set, z, rect }))
    yield pages.map(({ pageX, pageY, tiles, writtenAt: changedAt }) => {
      const [x, y] = [pageX * PAGE_SIZE, pageY * PAGE_SIZE];
      return { x, y, tiles, stale: changedAt < since ? tiles : 0, changedAt };
    });
}

/** The share of a page, limited to the layer's coverage, that is inside `rect`. */
function shareInside(rect: TileRect, part: TileRect, offered: TileRect): number {
  const whole = intersectRects(part, offered);
  const inside = whole && intersectRects(whole, rect);
  return inside ? sizeOfRect(inside) / sizeOfRect(whole) : 0;
}

/** Null if the layer has no tiles there. */
function requestedRect({ subset, set }: ResolvedTileSet, z: number, box: Bounds | null): TileRect | null {
  const offered = coverageAt(subset, z);
  if (!offered) {
    const { zoomStart, zoomStop } = subset;
    const problem = `Layer ${set.layer} in ${set.gridSet} has no zoom ${z}; it has zooms ${zoomStart} to ${zoomStop}.`;
    throw new TilewardenError('tile-outside', problem);
  }
  if (!box) return offered;
  const inBox = tilesOfBounds(subset.gridSet, z, box);
  return inBox && intersectRects(inBox, offered);
}

/** The tile set that path and query name. Throws unless the caller may see the layer. */
export async function requestedTileSet(
  { context, params, query }: OfTileSet,
  catalog: Pick<Catalog, 'layer'>,
): Promise<ResolvedTileSet> {
  const bound = boundLayer(catalog, params.layer);
  await requireReadable(context, bound.layer);
  return resolveTileSet(bound, {
    gridSet: params.gridSet,
    format: query.format ?? null,
    parameters: parametersOf(context.query, bound.layer.parameters),
  });
}

export function tileIn({ params: { z, x, y } }: Call<{ params: 'z' | 'x' | 'y' }>): TileIndex {
  return { z: indexOf('zoom', z), x: indexOf('column', x), y: indexOf('row', y) };
}

/** Cells along each side. A cell is one tile if the rectangle then has no more cells. */
const MAX_CELLS = 128;

type CoverageKind = (typeof COVERAGE_KINDS)[number];

interface CellPlan {
  readonly rect: TileRect;
  /** Tiles along a side of a cell. */
  readonly cell: number;
  readonly shows: CoverageKind;
  readonly now: number;
}

function cellSizeFor({ minX, minY, maxX, maxY }: TileRect): number {
  const fits = (size: number) =>
    Math.floor(maxX / size) - Math.floor(minX / size) < MAX_CELLS &&
    Math.floor(maxY / size) - Math.floor(minY / size) < MAX_CELLS;
  if (maxX - minX < MAX_CELLS && maxY - minY < MAX_CELLS) return 1;
  let size = PAGE_SIZE;
  while (!fits(size)) size *= 2;
  return size;
}

/** From the store's index: no tile is read. */
async function* tileParts(
  tiles: ResolvedTileSet,
  z: number,
  { rect, now }: CellPlan,
): AsyncGenerator<readonly CountedPart[]> {
  const { store } = tiles.bound;
  for await (const entries of store.list(tiles.set, z, rect)) {
    const shown = entries.filter(({ hidden }) => !hidden);
    yield shown.map((tile) => {
      const stale = isFresh(tiles, z, tile, now) ? 0 : 1;
      return { x: tile.x, y: tile.y, tiles: 1, stale, changedAt: tile.createdAt };
    });
  }
}

/** 5: younger than the first step; 1: older than all steps. */
function ageClass(age: number): number {
  const step = AGE_STEPS.findIndex((seconds) => age <= seconds * 1000);
  return step < 0 ? 1 : AGE_STEPS.length + 1 - step;
}

/** A page of tiles, or a single tile. `x` and `y`: its first tile. */
interface CountedPart {
  readonly x: number;
  readonly y: number;
  readonly tiles: number;
  /** Number of stale tiles. Of a page all or none, by its last change. */
  readonly stale: number;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

/** Sums up the parts in each cell, and converts the sums to values of the kind `shows`. */
async function coverageGrid(
  { subset }: ResolvedTileSet,
  z: number,
  { rect, cell, shows, now }: CellPlan,
  parts: AsyncIterable<readonly CountedPart[]>,
) {
  const [left, top] = [Math.floor(rect.minX / cell), Math.floor(rect.minY / cell)];
  const columns = Math.floor(rect.maxX / cell) - left + 1;
  const rows = Math.floor(rect.maxY / cell) - top + 1;
  const tiles = new Float64Array(columns * rows);
  const stale = new Float64Array(columns * rows);
  const changes = new Float64Array(columns * rows);
  for await (const some of parts) {
    for (const part of some) {
      const column = Math.floor(part.x / cell) - left;
      const row = Math.floor(part.y / cell) - top;
      if (column < 0 || row < 0 || column >= columns || row >= rows) continue;
      const place = row * columns + column;
      tiles[place] = (tiles[place] ?? 0) + part.tiles;
      stale[place] = (stale[place] ?? 0) + part.stale;
      changes[place] = Math.max(changes[place] ?? 0, part.changedAt);
    }
  }
  const offered = coverageAt(subset, z) ?? rect;
  const values = Uint8Array.from(tiles, (count, place) => {
    if (count === 0) return 0;
    if (shows === 'age') return ageClass(now - (changes[place] ?? 0));
    if (shows === 'state') return staleState(count, stale[place] ?? 0);
    const [column, row] = [left + (place % columns), top + Math.floor(place / columns)];
    const shared = intersectRects(blockAt(column, row, cell), offered);
    return percent(count, shared ? sizeOfRect(shared) : 0);
  });
  const [minX, minY] = [left * cell, top * cell];
  const covered = { minX, minY, maxX: minX + columns * cell - 1, maxY: minY + rows * cell - 1 };
  const bounds = coordsOf(boundsOfRect(subset.gridSet, z, covered));
  return { cell, minX, minY, columns, rows, bounds, runs: runLengths(values) };
}

function staleState(count: number, stale: number): number {
  if (stale === 0) return 3;
  return stale < count ? 2 : 1;
}

function runLengths(values: Uint8Array): number[] {
  const runs: number[] = [];
  for (const value of values) {
    const last = runs.length - 2;
    if (last >= 0 && runs[last] === value) runs[last + 1] = (runs[last + 1] ?? 0) + 1;
    else runs.push(value, 1);
  }
  return runs;
}

/** 100 only for all tiles, 0 only for none. */
function percent(count: number, of: number): number {
  return count >= of ? 100 : Math.min(99, Math.max(1, Math.round((count / of) * 100)));
}
