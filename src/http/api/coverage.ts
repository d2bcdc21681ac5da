import { z } from 'zod';
import { boundLayer, type Catalog } from '../../catalog/catalog.ts';
import { type Bounds, coordsOf } from '../../domain/bounds.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { boundsOfRect, tilesOfBounds } from '../../domain/grid-set.ts';
import { coverageAt } from '../../domain/grid-subset.ts';
import {
  BLOCK_SIZE,
  PAGE_SIZE,
  type TileIndex,
  type TileSetKey,
  tileSetNames,
} from '../../domain/tile-key.ts';
import { blockAt, countTiles, intersectRects, sizeOfRect, type TileRect } from '../../domain/tile-rect.ts';
import { freshSince } from '../../pipeline/freshness.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import type { LedgerBlock } from '../../quota/ledger-block.ts';
import type { Amount } from '../../quota/usage-report.ts';
import { requireReadable } from '../auth/layer-visibility.ts';
import { parametersOf } from '../services/kvp.ts';
import { indexOf } from '../services/tiles.ts';
import type { ApiDeps, Call } from './api-route.ts';
import {
  AGE_STEPS,
  type CellPlan,
  COVERAGE_KINDS,
  type CountedPart,
  type CoverageGrid,
  cellSizeFor,
  gridOf,
  runsOf,
  tileParts,
} from './coverage-grid.ts';
import { amount, bounds, boundsInQuery, count, tileSetName } from './values.ts';

export const tileSet = { layer: z.string(), ...tileSetName };

/** The layer's parameters are further query fields. */
export const tileSetQuery = z.object({
  format: z.string().optional().describe("Media type or extension; the layer's first when left out"),
});

export const zoomCoverageResponse = z.object({
  ...tileSet,
  zooms: z.array(z.object({ z: z.number().int(), ...amount, offered: count })),
});

const coverageKind = z.enum(COVERAGE_KINDS);

export const zoomCoverageQuery = tileSetQuery.extend({
  bounds: boundsInQuery
    .exactOptional()
    .describe("minX,minY,maxX,maxY in the grid set's CRS; everything when left out"),
});

export const coverageQuery = zoomCoverageQuery.extend({
  shows: coverageKind
    .exactOptional()
    .describe('When left out: age where a cell is one tile, share otherwise'),
});

export const coverageResponse = z.object({
  ...tileSet,
  z: z.number().int(),
  shows: coverageKind
    .optional()
    .describe(
      'age: 0 not there, 1 old to 5 young, see ageSteps, of the last change in a cell; share: the percentage that is there; state: 0 not there, 1 stale, 2 partly stale, 3 fresh',
    ),
  exact: z
    .boolean()
    .optional()
    .describe('False: there are too many tiles to look at each; state is that of the last change in a page'),
  ageSteps: z.array(z.number()).optional().describe('Seconds'),
  cell: z.number().int().describe('Tiles along a side of a cell'),
  minX: z.number().int().optional(),
  minY: z.number().int().optional(),
  columns: z.number().int(),
  rows: z.number().int(),
  bounds: bounds.nullable().describe('Of all cells together'),
  runs: z
    .array(z.number().int())
    .describe('A value and how many cells have it, in turn, row by row from the top left'),
});

export type OfTileSet = Call<{ params: 'layer' | 'gridSet'; query: typeof tileSetQuery }>;

export async function showZooms(call: OfTileSet & Call<{ query: typeof zoomCoverageQuery }>, deps: ApiDeps) {
  const { catalog, quota } = deps;
  const tiles = await requestedTileSet(call, catalog);
  const { zoomStart, zoomStop } = tiles.subset;
  const box = call.query.bounds ?? null;
  const zooms = Array.from({ length: zoomStop - zoomStart + 1 }, (_, place) => {
    const z = zoomStart + place;
    const offered = coverageAt(tiles.subset, z);
    const rect = offered && requestedRect(tiles, z, box);
    const shareOf = (part: TileRect) => (box && offered ? shareInside(rect, part, offered) : 1);
    return { z, tiles: 0, bytes: 0, offered: rect ? countTiles(rect) : 0n, shareOf };
  });
  /** False: the part is cut by the bounds and large enough for a closer look. */
  const count = ({ z, tiles, bytes }: Amount & { readonly z: number }, part: TileRect, roughly: boolean) => {
    const zoom = zooms[z - zoomStart];
    const share = zoom?.shareOf(part) ?? 0;
    if (share > 0 && share < 1 && !roughly) return false;
    if (zoom) zoom.tiles += Math.round(tiles * share);
    if (zoom) zoom.bytes += Math.round(bytes * share);
    return true;
  };
  const cut: LedgerBlock[] = [];
  for await (const block of quota.blocks(tiles.set))
    if (!count(block, blockAt(block.x, block.y, BLOCK_SIZE), false)) cut.push(block);
  for await (const page of quota.pagesIn(cut)) count(page, blockAt(page.pageX, page.pageY, PAGE_SIZE), true);
  return { ...tileSetNames(tiles.set), zooms: zooms.map(({ shareOf: _, ...zoom }) => zoom) };
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
  const isListed = cell === 1 || (shows === 'state' && (await hasFew(tiles.set, z, rect, deps)));
  const parts = isListed ? tileParts(tiles, z, plan) : partsOf(tiles, z, plan, deps);
  const exact = isListed || shows !== 'state';
  return { ...set, z, shows, exact, ...gridDocument(tiles, z, await gridOf(tiles, z, plan, parts)) };
}

/** Tiles that are looked at one by one for a picture. */
const MAX_LISTED = 20_000;

async function hasFew(set: TileSetKey, z: number, rect: TileRect, { quota }: ApiDeps): Promise<boolean> {
  let tiles = 0;
  for await (const block of blocksTouching(quota.blocks(set, z), rect)) {
    tiles += block.tiles;
    if (tiles > MAX_LISTED) return false;
  }
  return true;
}

/** Blocks if a cell consists of whole blocks, otherwise pages; only those that touch `rect`. */
async function* partsOf(
  { set, bound }: ResolvedTileSet,
  z: number,
  { rect, cell, now }: CellPlan,
  { quota }: ApiDeps,
): AsyncGenerator<readonly CountedPart[]> {
  const since = freshSince(bound.layer, z, now);
  const part = (x: number, y: number, tiles: number, changedAt: number) => [
    { x, y, tiles, stale: changedAt < since ? tiles : 0, changedAt },
  ];
  const blocks = blocksTouching(quota.blocks(set, z), rect);
  if (cell >= BLOCK_SIZE) {
    for await (const { x, y, tiles, changedAt } of blocks)
      yield part(x * BLOCK_SIZE, y * BLOCK_SIZE, tiles, changedAt);
    return;
  }
  for await (const { pageX, pageY, tiles, writtenAt } of quota.pagesIn(blocks))
    yield part(pageX * PAGE_SIZE, pageY * PAGE_SIZE, tiles, writtenAt);
}

async function* blocksTouching(
  blocks: AsyncIterable<LedgerBlock>,
  rect: TileRect,
): AsyncGenerator<LedgerBlock> {
  for await (const block of blocks)
    if (intersectRects(blockAt(block.x, block.y, BLOCK_SIZE), rect)) yield block;
}

/** The share of a page or block, limited to the layer's coverage, that is inside `rect`. */
function shareInside(rect: TileRect | null, part: TileRect, offered: TileRect): number {
  const whole = intersectRects(part, offered);
  const inside = whole && rect && intersectRects(whole, rect);
  return inside ? sizeOfRect(inside) / sizeOfRect(whole) : 0;
}

function gridDocument({ subset }: ResolvedTileSet, z: number, grid: CoverageGrid) {
  const { rect, cell, columns, rows, values } = grid;
  const minX = Math.floor(rect.minX / cell) * cell;
  const minY = Math.floor(rect.minY / cell) * cell;
  const covered = { minX, minY, maxX: minX + columns * cell - 1, maxY: minY + rows * cell - 1 };
  return {
    ageSteps: AGE_STEPS,
    cell,
    minX,
    minY,
    columns,
    rows,
    bounds: coordsOf(boundsOfRect(subset.gridSet, z, covered)),
    runs: runsOf(values),
  };
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

/** The tile set of `/…/{layer}/…/{gridSet}?format=…`; throws unless the caller may see the layer. */
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
