import { z } from 'zod';
import type { KeptBlankArea } from '../../catalog/blank-areas.ts';
import { boundLayer } from '../../catalog/catalog.ts';
import { type BlankArea, blankIsRightIn, polygonOfBounds } from '../../domain/blank-area.ts';
import { boundsOf, coordsOf } from '../../domain/bounds.ts';
import { invalid } from '../../domain/errors.ts';
import { boundsOfRect, boundsOfTile, type GridSet } from '../../domain/grid-set.ts';
import { everySubset, gridSubsetOf, type Layer } from '../../domain/layer.ts';
import { isoTime } from '../../lib/clock.ts';
import type { BlankSuspect } from '../../pipeline/blank-watch.ts';
import { checkArea } from '../../tasks/task-area.ts';
import { requireReadable } from '../auth/layer-visibility.ts';
import { createdResponse, idIn } from '../context.ts';
import { HttpProblem } from '../problems.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { parseTile, tileList } from './tile-selection.ts';
import { AREA_CRS, AREA_FIELDS, areaOf, bounds, name, time, zoom } from './values.ts';

const PLACES = ['bounds', 'area', 'tiles'] as const;
const MAX_ZOOM = 30;

/** One of bounds, area and tiles, or zooms alone. */
export const blankAreaBody = z.strictObject({
  gridSet: name.exactOptional().describe('All grid sets when absent; needed with bounds and tiles'),
  zoomStart: zoom.exactOptional(),
  zoomStop: zoom.exactOptional(),
  bounds: bounds.exactOptional(),
  ...AREA_FIELDS,
  tiles: tileList.exactOptional().describe('z/x/y, rows from the top, as suspects are listed'),
  note: z.string().max(500).default(''),
});

export const blankAreaResponse = z.object({
  id: z.number().int().nullable(),
  origin: z.enum(['configuration', 'interface']),
  gridSet: z.string().nullable(),
  zoomStart: zoom,
  zoomStop: zoom,
  area: z.unknown(),
  areaCrs: z.enum(AREA_CRS).nullable(),
  note: z.string(),
  createdBy: z.string().nullable(),
  createdAt: time.nullable(),
});

const blankSuspect = z.object({
  gridSet: z.string(),
  z: zoom,
  tiles: z.array(z.string()),
  bounds: z.array(z.number()),
  format: z.string(),
  parametersId: z.string().nullable(),
  at: time,
  times: z.number().int(),
  refused: z.boolean().describe('The source was failing: it was neither kept nor served'),
});

export const blankAreaListResponse = z.object({
  layer: z.string(),
  everywhere: z.boolean(),
  areas: z.array(blankAreaResponse),
  suspects: z.array(blankSuspect),
});

type OfLayer = Call<{ params: 'layer' }>;

async function layerIn({ context, params }: OfLayer, { catalog }: ApiDeps): Promise<Layer> {
  const { layer } = boundLayer(catalog, params.layer);
  await requireReadable(context, layer);
  return layer;
}

export async function listBlankAreas(call: OfLayer, deps: ApiDeps) {
  const layer = await layerIn(call, deps);
  const kept = await deps.blankAreas.list(layer.name);
  const areas = [...layer.blankAreas, ...kept];
  const suspects = deps.blankSuspects.of(layer.name);
  return {
    layer: layer.name,
    everywhere: layer.blankIsRight,
    areas: [...layer.blankAreas.map((area) => ({ ...area, ...DECLARED })), ...kept].map(areaDocument),
    suspects: suspects.flatMap((suspect) => suspectDocuments(layer, areas, suspect)),
  };
}

export async function addBlankArea(call: OfLayer & Call<{ body: typeof blankAreaBody }>, deps: ApiDeps) {
  const { body, caller, context, note } = call;
  const layer = await layerIn(call, deps);
  const about = { note: body.note, createdBy: caller.name };
  const kept = await deps.blankAreas.add(layer.name, blankAreaOf(body, layer), about);
  note({ target: `layer:${layer.name}`, after: { blankArea: kept } });
  const place = `/api/v1/layers/${encodeURIComponent(layer.name)}/blank-areas/${kept.id}`;
  return createdResponse(context, place, areaDocument(kept));
}

export async function removeBlankArea(call: Call<{ params: 'layer' | 'id' }>, deps: ApiDeps) {
  const layer = await layerIn(call, deps);
  const removed = await deps.blankAreas.remove(layer.name, idIn(call));
  if (!removed) throw new HttpProblem('blank-area-unknown', `Layer ${layer.name} has no such blank area.`);
  call.note({ target: `layer:${layer.name}`, before: { blankArea: removed } });
}

const DECLARED = { id: null, note: '', createdBy: null, createdAt: null };

function areaDocument(declared: BlankArea & (KeptBlankArea | typeof DECLARED)): object {
  const { id, gridSet, zoomStart, zoomStop, area: place, note, createdBy } = declared;
  const origin = id === null ? 'configuration' : 'interface';
  const area = place && { type: 'MultiPolygon', coordinates: place.polygons };
  const shown = { gridSet, zoomStart, zoomStop, area, areaCrs: place?.crs ?? null };
  return { id, origin, ...shown, note, createdBy, createdAt: isoTime(declared.createdAt) };
}

/** Empty if the area was decided in the meantime. */
function suspectDocuments(
  layer: Layer,
  areas: readonly BlankArea[],
  suspect: BlankSuspect,
): readonly object[] {
  const { set, z, rect, at, times, refused } = suspect;
  const gridSet = everySubset(layer).find((subset) => subset.gridSet.name === set.gridSet)?.gridSet;
  if (!gridSet || z >= gridSet.levels.length) return [];
  if (layer.blankIsRight || blankIsRightIn(areas, gridSet, z, rect)) return [];
  const box = coordsOf(boundsOfRect(gridSet, z, rect));
  const { format, parametersId } = set;
  const place = { gridSet: gridSet.name, z, tiles: tilesIn(suspect), bounds: box };
  return [{ ...place, format, parametersId, at: isoTime(at), times, refused }];
}

/** In the form that the request takes. */
function tilesIn({ z, rect: { minX, minY, maxX, maxY } }: BlankSuspect): readonly string[] {
  const tiles: string[] = [];
  for (let y = minY; y <= maxY; y++) for (let x = minX; x <= maxX; x++) tiles.push(`${z}/${x}/${y}`);
  return tiles;
}

type BlankAreaBody = z.output<typeof blankAreaBody>;

function blankAreaOf(body: BlankAreaBody, layer: Layer): BlankArea {
  const places = PLACES.filter((place) => body[place] !== undefined);
  if (places.length > 1) throw invalid(`${places.join(' and ')} exclude each other; give one of them.`);
  if (places.length === 0 && body.zoomStart === undefined && body.zoomStop === undefined) {
    throw invalid(
      `Give at least one of ${PLACES.join(', ')}, zoomStart and zoomStop. For a whole layer set blankIsRight in its declaration.`,
    );
  }
  const gridSet = body.gridSet === undefined ? null : gridSubsetOf(layer, body.gridSet).gridSet;
  const place = blankPlace(body, gridSet);
  if (place.zoomStart <= place.zoomStop) return { gridSet: gridSet?.name ?? null, ...place };
  throw invalid('zoomStart must not be above zoomStop.');
}

function blankPlace(body: BlankAreaBody, gridSet: GridSet | null): Omit<BlankArea, 'gridSet'> {
  const { zoomStart = 0, zoomStop = MAX_ZOOM, bounds: box } = body;
  if (body.tiles) return areaOfTiles(body, body.tiles, needed(gridSet, 'tiles'));
  if (box) needed(gridSet, 'bounds');
  const area = box ? { polygons: [polygonOfBounds(boundsOf(box))], crs: 'grid-set' as const } : areaOf(body);
  if (area && !box) checkArea(area.polygons);
  if (area?.crs === 'grid-set') needed(gridSet, 'areaCrs grid-set');
  return { zoomStart, zoomStop, area: area ?? null };
}

/** In the form of the suspects; without zooms, at the tiles' own zoom only. */
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
