import { type Bounds, boundsOf } from '../../domain/bounds.ts';
import { invalid, shortened, TilewardenError } from '../../domain/errors.ts';
import { boundsOfRect, tilesOfBounds } from '../../domain/grid-set.ts';
import { coverageAt } from '../../domain/grid-subset.ts';
import { PAGE_SIZE } from '../../domain/tile-key.ts';
import { countTiles, intersectRects, type TileRect } from '../../domain/tile-rect.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import type { LedgerPage } from '../../quota/ledger-block.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import {
  AGE_STEPS,
  type CellPlan,
  COVERAGE_KINDS,
  type CoverageGrid,
  type CoverageKind,
  cellSizeFor,
  gridOfPages,
  gridOfTiles,
  runsOf,
} from './coverage-grid.ts';
import { integerParam, requestedTileSet } from './layer-tiles.ts';

/** What of a layer is cached: how much at each zoom, and where at one of them. */
export function coverageRoutes({ catalog, quota, clock }: RouteDeps): readonly Route[] {
  const path = '/api/v1/layers/{layer}/coverage/{gridSet}';
  return [
    { method: 'GET', path, role: 'viewer', handler: showZooms },
    { method: 'GET', path: `${path}/{z}`, role: 'viewer', handler: showPlaces },
  ];

  async function showZooms(exchange: Exchange): Promise<Answer> {
    const tiles = await requestedTileSet(exchange, catalog);
    const pages = await quota.pages(tiles.set);
    const { zoomStart, zoomStop } = tiles.subset;
    const bounds = boundsIn(exchange.query);
    const zooms = Array.from({ length: zoomStop - zoomStart + 1 }, (_, place) => {
      const z = zoomStart + place;
      const offered = coverageAt(tiles.subset, z);
      const rect = offered && requestedRect(tiles, z, bounds);
      const level = pages.filter((page) => page.z === z);
      const here = bounds && offered ? level.map((page) => insideOf(page, offered, rect)) : level;
      const sum = (field: 'tiles' | 'bytes') => here.reduce((total, page) => total + page[field], 0);
      return { z, tiles: sum('tiles'), bytes: sum('bytes'), offered: rect ? countTiles(rect) : 0n };
    });
    return jsonAnswer({ ...tiles.set, zooms });
  }

  async function showPlaces(exchange: Exchange): Promise<Answer> {
    const tiles = await requestedTileSet(exchange, catalog);
    const z = integerParam(exchange, 'z');
    const rect = requestedRect(tiles, z, boundsIn(exchange.query));
    const { set } = tiles;
    if (!rect) return jsonAnswer({ ...set, z, cell: 1, columns: 0, rows: 0, runs: [], bounds: null });
    const cell = cellSizeFor(rect);
    const shows = kindIn(exchange.query) ?? (cell === 1 ? 'age' : 'share');
    const grid = await gridFor(tiles, z, { rect, cell, shows, now: clock.now() });
    return jsonAnswer({ ...set, z, shows, ...gridDocument(tiles, z, grid) });
  }

  async function gridFor(tiles: ResolvedTileSet, z: number, plan: CellPlan): Promise<CoverageGrid> {
    if (plan.cell === 1) return gridOfTiles(tiles, z, plan);
    const pages = await quota.pages(tiles.set);
    const here = pages.filter((page) => page.z === z);
    return gridOfPages(tiles, z, plan, here);
  }
}

/** Of a page that lies partly outside `rect`, the share that lies inside. */
function insideOf(page: LedgerPage, offered: TileRect, rect: TileRect | null) {
  const [minX, minY] = [page.pageX * PAGE_SIZE, page.pageY * PAGE_SIZE];
  const square = { minX, minY, maxX: minX + PAGE_SIZE - 1, maxY: minY + PAGE_SIZE - 1 };
  const whole = intersectRects(square, offered);
  const inside = whole && rect && intersectRects(whole, rect);
  const share = inside ? Number(countTiles(inside)) / Number(countTiles(whole)) : 0;
  return { tiles: Math.round(page.tiles * share), bytes: Math.round(page.bytes * share) };
}

function gridDocument({ subset }: ResolvedTileSet, z: number, grid: CoverageGrid) {
  const { rect, cell, columns, rows, values } = grid;
  const minX = Math.floor(rect.minX / cell) * cell;
  const minY = Math.floor(rect.minY / cell) * cell;
  const covered = { minX, minY, maxX: minX + columns * cell - 1, maxY: minY + rows * cell - 1 };
  const bounds = boundsOfRect(subset.gridSet, z, covered);
  return {
    ageSteps: AGE_STEPS,
    cell,
    minX,
    minY,
    columns,
    rows,
    bounds: [bounds.minX, bounds.minY, bounds.maxX, bounds.maxY],
    runs: runsOf(values),
  };
}

/** Null when nothing that the layer offers lies there. */
function requestedRect({ subset, set }: ResolvedTileSet, z: number, bounds: Bounds | null): TileRect | null {
  const offered = coverageAt(subset, z);
  if (!offered) {
    const { zoomStart, zoomStop } = subset;
    const problem = `Layer ${set.layer} in ${set.gridSet} has no zoom ${z}; it has zooms ${zoomStart} to ${zoomStop}.`;
    throw new TilewardenError('tile-outside', problem);
  }
  if (!bounds) return offered;
  const wanted = tilesOfBounds(subset.gridSet, z, bounds);
  return wanted && intersectRects(wanted, offered);
}

/** `shows=age` or `shows=share`; null when it is left to the server. */
function kindIn(query: string): CoverageKind | null {
  const text = new URLSearchParams(query).get('shows');
  const kind = COVERAGE_KINDS.find((name) => name === text);
  if (text === null || kind) return kind ?? null;
  const allowed = COVERAGE_KINDS.join(' or ');
  throw invalid(`shows must be ${allowed}, not "${shortened(text)}".`);
}

/** `bounds=minX,minY,maxX,maxY` in the grid set's CRS. */
function boundsIn(query: string): Bounds | null {
  const text = new URLSearchParams(query).get('bounds');
  if (text === null) return null;
  const numbers = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = numbers;
  const fine = numbers.length === 4 && numbers.every(Number.isFinite) && minX <= maxX && minY <= maxY;
  if (fine) return boundsOf([minX, minY, maxX, maxY]);
  throw invalid(
    `bounds must be four numbers, minX,minY,maxX,maxY with min not above max, not "${shortened(text)}".`,
  );
}
