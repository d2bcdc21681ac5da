import type { KeptBlankArea } from '../../catalog/blank-areas.ts';
import { type BlankArea, blankIsRightIn } from '../../domain/blank-area.ts';
import { boundsOfRect } from '../../domain/grid-set.ts';
import { everySubset, type Layer } from '../../domain/layer.ts';
import { isoTime } from '../../lib/clock.ts';
import type { BlankSuspect } from '../../pipeline/blank-watch.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { callerName, type Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { boundLayer } from '../services/tiles.ts';
import { blankAreaBody, blankAreaOf } from '../wire/blank-area-request.ts';
import { readBody } from '../wire/read-body.ts';
import { NOTHING } from './users.ts';

/** `/api/v1/layers/{layer}/blank-areas`: where empty pictures are right, and where they are suspect. */
export function blankAreaRoutes({ catalog, blankAreas, blankSuspects }: RouteDeps): readonly Route[] {
  const path = '/api/v1/layers/{layer}/blank-areas';
  return [
    { method: 'GET', path, role: 'viewer', handler: list },
    { method: 'POST', path, role: 'operator', handler: add },
    { method: 'DELETE', path: `${path}/{id}`, role: 'operator', handler: remove },
  ];

  async function list(exchange: Exchange): Promise<Answer> {
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    const kept = await blankAreas.list(layer.name);
    const areas = [...layer.blankAreas, ...kept];
    return jsonAnswer({
      layer: layer.name,
      everywhere: layer.blankIsRight,
      areas: [...layer.blankAreas.map(declaredDocument), ...kept.map(keptDocument)],
      suspects: blankSuspects.of(layer.name).flatMap((suspect) => suspectDocuments(layer, areas, suspect)),
    });
  }

  async function add(exchange: Exchange): Promise<Answer> {
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    const body = readBody(exchange, blankAreaBody);
    const said = { note: body.note, createdBy: callerName(exchange) };
    const kept = await blankAreas.add(layer.name, blankAreaOf(body, layer), said);
    exchange.change = { target: `layer:${layer.name}`, after: { blankArea: kept } };
    const location = `${exchange.baseUrl}/api/v1/layers/${encodeURIComponent(layer.name)}/blank-areas/${kept.id}`;
    return jsonAnswer(keptDocument(kept), ['Location', location], 201);
  }

  async function remove(exchange: Exchange): Promise<Answer> {
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    const id = exchange.param('id');
    const removed = /^\d{1,15}$/.test(id) ? await blankAreas.remove(layer.name, Number(id)) : null;
    if (!removed) throw new HttpProblem('blank-area-unknown', `Layer ${layer.name} has no such blank area.`);
    exchange.change = { target: `layer:${layer.name}`, before: { blankArea: removed } };
    return NOTHING;
  }
}

function declaredDocument(area: BlankArea): object {
  return {
    id: null,
    origin: 'configuration',
    ...placeDocument(area),
    note: '',
    createdBy: null,
    createdAt: null,
  };
}

function keptDocument(area: KeptBlankArea): object {
  const { id, note, createdBy, createdAt } = area;
  const said = { note, createdBy, createdAt: isoTime(createdAt) };
  return { id, origin: 'interface', ...placeDocument(area), ...said };
}

function placeDocument({ gridSet, zoomStart, zoomStop, area }: BlankArea): object {
  return {
    gridSet,
    zoomStart,
    zoomStop,
    area: area && { type: 'MultiPolygon', coordinates: area.polygons },
    areaCrs: area?.crs ?? null,
  };
}

/** None for what has been settled since. */
function suspectDocuments(
  layer: Layer,
  areas: readonly BlankArea[],
  suspect: BlankSuspect,
): readonly object[] {
  const { set, z, rect, at, times, refused } = suspect;
  const gridSet = everySubset(layer).find((subset) => subset.gridSet.name === set.gridSet)?.gridSet;
  if (!gridSet || z >= gridSet.levels.length) return [];
  if (layer.blankIsRight || blankIsRightIn(areas, gridSet, z, rect)) return [];
  const { minX, minY, maxX, maxY } = boundsOfRect(gridSet, z, rect);
  const { format, parametersId } = set;
  const place = { gridSet: gridSet.name, z, tiles: tilesIn(suspect), bounds: [minX, minY, maxX, maxY] };
  return [{ ...place, format, parametersId, at: isoTime(at), times, refused }];
}

/** As the request takes them. */
function tilesIn({ z, rect: { minX, minY, maxX, maxY } }: BlankSuspect): readonly string[] {
  const tiles: string[] = [];
  for (let y = minY; y <= maxY; y++) for (let x = minX; x <= maxX; x++) tiles.push(`${z}/${x}/${y}`);
  return tiles;
}
