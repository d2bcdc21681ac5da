import { expandBounds, polygonOfBounds } from '../domain/bounds.ts';
import type { ChangedPlace } from '../domain/place-in-grid-set.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { DEEPEST_ZOOM } from '../domain/tile-rect.ts';
import { getOrCreate } from '../lib/get-or-create.ts';

/** Tiles beside and below each other, of one zoom. */
interface TileBlock extends TileIndex {
  columns: number;
  rows: number;
}

/** As osm2pgsql and imposm write expired tiles: zoom, column, row from the top. */
const TILE = /^(\d{1,2})\/(\d{1,10})\/(\d{1,10})$/;
const WEB_MERCATOR = 3857;
const HALF_WORLD = 20037508.342789244;
/** Metres: grid sets round the size of the world, which must not touch neighbouring tiles. */
const INSET = 0.01;

/** Null unless it is a tile of web mercator. */
export function readTile(text: string): TileIndex | null {
  const [, z = NaN, x = NaN, y = NaN] = TILE.exec(text)?.map(Number) ?? [];
  const across = 2 ** z;
  return z <= DEEPEST_ZOOM && x < across && y < across ? { z, x, y } : null;
}

/** Neighbours become one box. */
export function placeOfTiles(tiles: Iterable<TileIndex>): ChangedPlace {
  const sorted = [...tiles].sort((a, b) => a.z - b.z || a.y - b.y || a.x - b.x);
  const runs: TileBlock[] = [];
  for (const tile of sorted) {
    const last = runs.at(-1);
    const joins = last && last.z === tile.z && last.y === tile.y && tile.x <= last.x + last.columns;
    if (joins) last.columns = Math.max(last.columns, tile.x - last.x + 1);
    else runs.push({ ...tile, columns: 1, rows: 1 });
  }
  const blocks = new Map<string, TileBlock[]>();
  for (const run of runs) {
    const above = getOrCreate(blocks, `${run.z}/${run.x}/${run.columns}`, () => []);
    const last = above.at(-1);
    if (last && last.y + last.rows === run.y) last.rows++;
    else above.push(run);
  }
  return { srs: WEB_MERCATOR, polygons: [...blocks.values()].flat().map(polygonOfBlock) };
}

function polygonOfBlock({ z, x, y, columns, rows }: TileBlock) {
  const span = (2 * HALF_WORLD) / 2 ** z;
  const [minX, maxY] = [x * span - HALF_WORLD, HALF_WORLD - y * span];
  const inset = Math.min(INSET, span / 100);
  const bounds = { minX, minY: maxY - rows * span, maxX: minX + columns * span, maxY };
  return polygonOfBounds(expandBounds(bounds, -inset, -inset));
}
