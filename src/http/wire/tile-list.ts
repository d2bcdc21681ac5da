import type { Bounds } from '../../domain/bounds.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { boundsOfTile } from '../../domain/grid-set.ts';
import type { Layer } from '../../domain/layer.ts';
import type { Polygon } from '../../domain/polygon.ts';
import { projectionOf } from '../../domain/projection.ts';
import { shortened } from '../../domain/shortened.ts';
import { isWebMercator } from '../../domain/srs.ts';
import type { TaskDraft } from '../../tasks/task-draft.ts';

export const MAX_LISTED_TILES = 2000;
/** As osm2pgsql and imposm write expired tiles: zoom, column, row from the top. */
const TILE = /^(\d{1,2})\/(\d{1,10})\/(\d{1,10})$/;
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
export function areaOfTiles(layer: Layer, tiles: readonly string[]): TaskDraft['area'] {
  const subset = layer.gridSubsets.find(({ gridSet }) => isWebMercator(gridSet));
  const projection = subset && projectionOf(subset.gridSet);
  if (!subset || !projection) {
    throw refused(
      `tiles are those of web mercator, which layer ${layer.name} does not have; give bounds or an area.`,
    );
  }
  if (tiles.length === 0) throw refused('tiles must list at least one tile as z/x/y.');
  if (tiles.length > MAX_LISTED_TILES) {
    throw refused(
      `tiles may list ${MAX_LISTED_TILES} tiles at once, not ${tiles.length}; send them in parts.`,
    );
  }
  const { gridSet } = subset;
  const polygons = tiles.map((text): Polygon => {
    const { z, x, y } = parseTile(text, gridSet.levels.length);
    const box = projection.boundsToWgs84(inset(boundsOfTile(gridSet, z, x, y)));
    if (!box) throw refused(`tiles: ${text} lies nowhere on earth.`);
    const { minX: west, minY: south, maxX: east, maxY: north } = box;
    return [
      [
        [west, south],
        [east, south],
        [east, north],
        [west, north],
        [west, south],
      ],
    ];
  });
  return { polygons, crs: 'EPSG:4326' };
}

function inset({ minX, minY, maxX, maxY }: Bounds): Bounds {
  const [dx, dy] = [(maxX - minX) * INSET, (maxY - minY) * INSET];
  return { minX: minX + dx, minY: minY + dy, maxX: maxX - dx, maxY: maxY - dy };
}

function parseTile(text: string, levels: number): { z: number; x: number; y: number } {
  const [, z = NaN, x = NaN, y = NaN] = TILE.exec(text)?.map(Number) ?? [];
  if (z < levels && x < 2 ** z && y < 2 ** z) return { z, x, y };
  throw refused(
    `tiles must be lines of z/x/y with z below ${levels} and x and y within it, not "${shortened(text)}".`,
  );
}

function refused(message: string): TilewardenError {
  return new TilewardenError('request-invalid', message);
}
