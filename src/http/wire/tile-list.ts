import { z } from 'zod';
import { polygonOfBounds } from '../../domain/blank-area.ts';
import type { Bounds } from '../../domain/bounds.ts';
import { invalid, shortened } from '../../domain/errors.ts';
import { boundsOfTile, type GridSet, levelOf } from '../../domain/grid-set.ts';
import type { Layer } from '../../domain/layer.ts';
import { projectionOf } from '../../domain/projection.ts';
import { isWebMercator } from '../../domain/srs.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { TaskDraft } from '../../tasks/task-draft.ts';

/** As osm2pgsql and imposm write expired tiles: zoom, column, row from the top. */
const TILE = /^(\d{1,2})\/(\d{1,10})\/(\d{1,10})$/;
export const tileList = z
  .array(z.string().regex(TILE, { error: 'must be z/x/y' }))
  .min(1)
  .max(2000);

/** In tiles, so that rounding reaches no neighbour. */
const INSET = 1e-3;

export function tileLines(body: Buffer): readonly string[] {
  return body
    .toString('utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** The places on earth of web mercator tiles. */
export function areaOfTiles(layer: Layer, tiles: readonly string[]): NonNullable<TaskDraft['area']> {
  const gridSet = layer.gridSubsets.find((subset) => isWebMercator(subset.gridSet))?.gridSet;
  const projection = gridSet && projectionOf(gridSet);
  if (!gridSet || !projection) {
    throw invalid(
      `tiles are those of web mercator, which layer ${layer.name} does not have; give bounds or an area.`,
    );
  }
  const polygons = tiles.map((text) => {
    const { z, x, y } = parseTile(text, gridSet);
    const box = projection.boundsToWgs84(inset(boundsOfTile(gridSet, z, x, y)));
    if (!box) throw invalid(`tiles: ${text} lies nowhere on earth.`);
    return polygonOfBounds(box);
  });
  return { polygons, crs: 'EPSG:4326' };
}

/** Throws for a tile that the grid set does not have. */
export function parseTile(text: string, gridSet: GridSet): TileIndex {
  const [, z = NaN, x = NaN, y = NaN] = TILE.exec(text)?.map(Number) ?? [];
  const { columns = 0, rows = 0 } = z < gridSet.levels.length ? levelOf(gridSet, z) : {};
  if (x < columns && y < rows) return { z, x, y };
  throw invalid(
    `tiles must be z/x/y of grid set ${gridSet.name}, rows from the top, not "${shortened(text)}".`,
  );
}

function inset({ minX, minY, maxX, maxY }: Bounds): Bounds {
  const [dx, dy] = [(maxX - minX) * INSET, (maxY - minY) * INSET];
  return { minX: minX + dx, minY: minY + dy, maxX: maxX - dx, maxY: maxY - dy };
}
