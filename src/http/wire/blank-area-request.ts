import { z } from 'zod';
import { type BlankArea, polygonOfBounds } from '../../domain/blank-area.ts';
import { boundsOf } from '../../domain/bounds.ts';
import { invalid } from '../../domain/errors.ts';
import { boundsOfTile, type GridSet } from '../../domain/grid-set.ts';
import { gridSubsetOf, type Layer } from '../../domain/layer.ts';
import { checkArea } from '../../tasks/task-area.ts';
import { AREA_FIELDS, areaOf, bounds, name, zoom } from './body-values.ts';
import { parseTile, tileList } from './tile-list.ts';

const PLACES = ['bounds', 'area', 'tiles'] as const;
const MAX_ZOOM = 30;

/** `POST /api/v1/layers/{layer}/blank-areas`: one of bounds, area and tiles, or zooms alone. */
export const blankAreaBody = z.strictObject({
  gridSet: name.exactOptional().describe('All grid sets when absent; needed with bounds and tiles'),
  zoomStart: zoom.exactOptional(),
  zoomStop: zoom.exactOptional(),
  bounds: bounds.exactOptional(),
  ...AREA_FIELDS,
  tiles: tileList.exactOptional().describe('z/x/y, rows from the top, as suspects are listed'),
  note: z.string().max(500).default(''),
});

type BlankAreaBody = z.output<typeof blankAreaBody>;

/** Throws `request-invalid` or `grid-set-unknown`. */
export function blankAreaOf(body: BlankAreaBody, layer: Layer): BlankArea {
  const places = PLACES.filter((place) => body[place] !== undefined);
  if (places.length > 1) throw invalid(`${places.join(' and ')} exclude each other; give one of them.`);
  if (places.length === 0 && body.zoomStart === undefined && body.zoomStop === undefined) {
    throw invalid(
      `Say where blank is right: ${PLACES.join(', ')}, zoomStart or zoomStop. For all of a layer there is blankIsRight in its declaration.`,
    );
  }
  const gridSet = body.gridSet === undefined ? null : gridSubsetOf(layer, body.gridSet).gridSet;
  const place = placeOf(body, gridSet);
  if (place.zoomStart <= place.zoomStop) return { gridSet: gridSet?.name ?? null, ...place };
  throw invalid('zoomStart must not be above zoomStop.');
}

function placeOf(body: BlankAreaBody, gridSet: GridSet | null): Omit<BlankArea, 'gridSet'> {
  const { zoomStart = 0, zoomStop = MAX_ZOOM } = body;
  if (body.tiles) return areaOfTiles(body, body.tiles, needed(gridSet, 'tiles'));
  if (body.bounds) {
    needed(gridSet, 'bounds');
    return {
      zoomStart,
      zoomStop,
      area: { polygons: [polygonOfBounds(boundsOf(body.bounds))], crs: 'grid-set' },
    };
  }
  const area = areaOf(body) ?? null;
  if (area) checkArea(area.polygons);
  if (area?.crs === 'grid-set') needed(gridSet, 'areaCrs grid-set');
  return { zoomStart, zoomStop, area };
}

/** As they are listed among the suspects; without zooms, at their own only. */
function areaOfTiles(
  { zoomStart, zoomStop }: BlankAreaBody,
  tiles: readonly string[],
  gridSet: GridSet,
): Omit<BlankArea, 'gridSet'> {
  const places = tiles.map((text) => parseTile(text, gridSet));
  const own = places[0]?.z ?? 0;
  if (places.some(({ z }) => z !== own) && (zoomStart === undefined || zoomStop === undefined)) {
    throw invalid('tiles must be of one zoom, or zoomStart and zoomStop must be given.');
  }
  const polygons = places.map(({ z, x, y }) => polygonOfBounds(boundsOfTile(gridSet, z, x, y)));
  return { zoomStart: zoomStart ?? own, zoomStop: zoomStop ?? own, area: { polygons, crs: 'grid-set' } };
}

function needed(gridSet: GridSet | null, what: string): GridSet {
  if (gridSet) return gridSet;
  throw invalid(`gridSet must be given with ${what}.`);
}
