import { type BlankArea, polygonOfBounds } from '../../domain/blank-area.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { boundsOfTile, type GridSet, levelOf } from '../../domain/grid-set.ts';
import { gridSubsetOf, type Layer } from '../../domain/layer.ts';
import { shortened } from '../../domain/shortened.ts';
import { checkArea } from '../../tasks/task-area.ts';
import { areaField, readTaskObject } from './task-request.ts';
import { MAX_LISTED_TILES } from './tile-list.ts';
import { boundsField, refuseUnknownFields, zoomsField } from './tile-selection.ts';
import { childrenNamed, textField, textOf, type WireElement } from './wire-element.ts';

export interface BlankAreaRequest {
  readonly area: BlankArea;
  readonly note: string;
}

interface Zooms {
  readonly zoomStart?: number | undefined;
  readonly zoomStop?: number | undefined;
}

const PLACES = ['bounds', 'area', 'tiles'];
const FIELDS = ['gridSet', 'zoomStart', 'zoomStop', ...PLACES, 'areaCrs', 'note'];
const MAX_ZOOM = 30;
const MAX_NOTE = 500;
const TILE = /^(\d{1,2})\/(\d{1,10})\/(\d{1,10})$/;

/** Says where blank is right: one of bounds, area and tiles, or zooms alone. */
export function readBlankAreaRequest(body: Buffer, layer: Layer): BlankAreaRequest {
  const root = readTaskObject(body);
  refuseUnknownFields(root, FIELDS);
  const places = PLACES.filter((name) => childrenNamed(root, name).length > 0);
  if (places.length > 1) throw refused(`${places.join(' and ')} exclude each other; give one of them.`);
  const named = textField(root, 'gridSet');
  const gridSet = named === undefined ? null : gridSubsetOf(layer, named).gridSet;
  const zooms = zoomsField(root);
  if (places.length === 0 && zooms.zoomStart === undefined && zooms.zoomStop === undefined) {
    throw refused(
      `Say where blank is right: ${PLACES.join(', ')}, zoomStart or zoomStop. For all of a layer there is blankIsRight in its declaration.`,
    );
  }
  const area = placeOf(root, gridSet, zooms);
  return { area: { gridSet: gridSet?.name ?? null, ...area }, note: noteField(root) };
}

function placeOf(root: WireElement, gridSet: GridSet | null, zooms: Zooms): Omit<BlankArea, 'gridSet'> {
  const { zoomStart = 0, zoomStop = MAX_ZOOM } = zooms;
  const tiles = childrenNamed(root, 'tiles').map(textOf);
  if (tiles.length > 0) return areaOfTiles(tiles, needed(gridSet, 'tiles'), zooms);
  const bounds = boundsField(root);
  if (bounds) {
    needed(gridSet, 'bounds');
    return { zoomStart, zoomStop, area: { polygons: [polygonOfBounds(bounds)], crs: 'grid-set' } };
  }
  const area = areaField(root);
  if (!area) return { zoomStart, zoomStop, area: null };
  checkArea(area.polygons);
  if (area.crs === 'grid-set') needed(gridSet, 'areaCrs grid-set');
  return { zoomStart, zoomStop, area };
}

/** As they are listed among the suspects; without zooms, at their own only. */
function areaOfTiles(
  tiles: readonly string[],
  gridSet: GridSet,
  { zoomStart, zoomStop }: Zooms,
): Omit<BlankArea, 'gridSet'> {
  if (tiles.length > MAX_LISTED_TILES) {
    throw refused(`tiles may list ${MAX_LISTED_TILES} at once, not ${tiles.length}.`);
  }
  const places = tiles.map((text) => parseTile(text, gridSet));
  const own = places[0]?.z ?? 0;
  const oneZoom = places.every(({ z }) => z === own);
  if (!oneZoom && (zoomStart === undefined || zoomStop === undefined)) {
    throw refused('tiles must be of one zoom, or zoomStart and zoomStop must be given.');
  }
  const polygons = places.map(({ z, x, y }) => polygonOfBounds(boundsOfTile(gridSet, z, x, y)));
  return { zoomStart: zoomStart ?? own, zoomStop: zoomStop ?? own, area: { polygons, crs: 'grid-set' } };
}

function parseTile(text: string, gridSet: GridSet): { z: number; x: number; y: number } {
  const [, z = NaN, x = NaN, y = NaN] = TILE.exec(text)?.map(Number) ?? [];
  const { columns = 0, rows = 0 } = z < gridSet.levels.length ? levelOf(gridSet, z) : {};
  if (x < columns && y < rows) return { z, x, y };
  throw refused(
    `tiles must be z/x/y of grid set ${gridSet.name}, rows from the top, not "${shortened(text)}".`,
  );
}

function needed(gridSet: GridSet | null, what: string): GridSet {
  if (gridSet) return gridSet;
  throw refused(`gridSet must be given with ${what}.`);
}

function noteField(root: WireElement): string {
  const note = textField(root, 'note') ?? '';
  if (note.length <= MAX_NOTE) return note;
  throw refused(`note may have ${MAX_NOTE} characters.`);
}

function refused(message: string): TilewardenError {
  return new TilewardenError('request-invalid', message);
}
