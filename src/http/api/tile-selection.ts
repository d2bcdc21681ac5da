/** Truncates or invalidates the tiles of a layer that the body of a request selects. */
import { z } from 'zod';
import { boundLayer } from '../../catalog/catalog.ts';
import { type Area, areaIn } from '../../domain/area-in-grid-set.ts';
import { boundsOf, expandBounds, polygonOfBounds } from '../../domain/bounds.ts';
import { invalid, shortened } from '../../domain/errors.ts';
import { boundsOfTile, type GridSet, levelOf } from '../../domain/grid-set.ts';
import { everySubset, findGridSubset, formatOfLayer, gridSubsetOf, type Layer } from '../../domain/layer.ts';
import { refuseUnknownParameters, selectParameters } from '../../domain/parameter-filter.ts';
import { projectionOf } from '../../domain/projection.ts';
import { isWebMercator } from '../../domain/srs.ts';
import { type TileIndex, tileSetNames } from '../../domain/tile-key.ts';
import type { SelectedTiles, TileSelection } from '../../removal/tile-selection.ts';
import { mediaTypeOf } from '../auth/request-checks.ts';
import { authorIn, type Context } from '../context.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { withShape } from './areas.ts';
import { checkBody, readBody, readQuery } from './read-body.ts';
import {
  type AreaFields,
  amount,
  bounds,
  flag,
  NAMED_AREA_FIELDS,
  names,
  parameters,
  queryFlag,
  requestedArea,
  tileSetName,
  timeInBody,
  zoom,
} from './values.ts';

/** Zoom, column, row from the top: the format in which osm2pgsql and imposm list expired tiles. */
const TILE = /^(\d{1,2})\/(\d{1,10})\/(\d{1,10})$/;
const tileList = z
  .array(z.string().regex(TILE, { error: 'must be z/x/y' }))
  .min(1)
  .max(2000);

const all = 'All when absent';

const selectionBody = z
  .strictObject({
    gridSets: names.exactOptional().describe(all),
    formats: names.exactOptional().describe(all),
    parameters: parameters
      .exactOptional()
      .describe('Every combination when absent; {} is the combination of all defaults'),
    zoomStart: zoom.exactOptional().describe(all),
    zoomStop: zoom.exactOptional().describe(all),
    bounds: bounds.exactOptional(),
    ...NAMED_AREA_FIELDS,
    olderThan: timeInBody.exactOptional().describe('Only tiles made before this time'),
  })
  .describe('{} selects every tile of the layer');

export const truncateBody = selectionBody.extend({
  dryRun: flag.describe('Only counts the tiles to remove'),
});

export const invalidateBody = selectionBody.extend({
  tiles: tileList.exactOptional().describe('z/x/y in web mercator, rows from the top; in place of area'),
  renew: flag.describe('Start tasks that renew the marked tiles'),
  dryRun: flag.describe('Only counts the tiles to mark'),
});

/** For a body of lines `z/x/y`. */
export const invalidateQuery = z.strictObject({
  renew: queryFlag.default(false),
  dryRun: queryFlag.default(false),
});

type Selection = Omit<z.output<typeof selectionBody>, 'area'> &
  AreaFields &
  Pick<z.output<typeof invalidateBody>, 'tiles'>;

/** `names`: `offered` allows only current grid sets and formats of the layer, `any` former ones too. */
function requestedSelection(body: Selection, layer: Layer, names: 'offered' | 'any'): TileSelection {
  const { parameters: values, zoomStart, zoomStop, bounds: coords, olderThan, formats } = body;
  if ((zoomStart ?? 0) > (zoomStop ?? zoom.maxValue ?? 0)) {
    throw invalid('zoomStart must not be above zoomStop.');
  }
  const area = selectedPlace(body, layer);
  const offered = (format: string) => formatOfLayer(layer, format).mediaType;
  const gridSets = selectedGridSets(body, layer, names === 'offered');
  // Throws for an area that cannot be converted to one of the grid sets, before any tile is removed.
  for (const name of area ? (gridSets ?? []) : []) areaIn(gridSubsetOf(layer, name).gridSet, area);
  const named = values && new Map(Object.entries(values));
  if (named) refuseUnknownParameters(layer.parameters, named);
  return {
    ...(gridSets && { gridSets }),
    ...(formats && { formats: names === 'any' ? formats : formats.map(offered) }),
    ...(named && { parametersId: selectParameters(layer.parameters, named).id }),
    ...(zoomStart !== undefined && { zoomStart }),
    ...(zoomStop !== undefined && { zoomStop }),
    ...(coords && { bounds: boundsOf(coords) }),
    ...(area && { area }),
    ...(olderThan !== undefined && { olderThan: Date.parse(olderThan) }),
  };
}

function selectedPlace(body: Selection, layer: Layer) {
  const area = requestedArea(body);
  if (area && body.tiles) throw invalid('area and tiles exclude each other; give one of them.');
  return body.tiles ? areaOfTiles(layer, body.tiles) : area;
}

/** With bounds, an area or tiles, only grid sets that the layer still has are allowed. */
function selectedGridSets(body: Selection, layer: Layer, offered: boolean): readonly string[] | undefined {
  const placed = body.bounds !== undefined || body.area !== undefined || body.tiles !== undefined;
  if (!body.gridSets) return placed ? everySubset(layer).map(({ gridSet }) => gridSet.name) : undefined;
  return body.gridSets.map((name) => {
    const subset = placed || offered ? gridSubsetOf(layer, name) : findGridSubset(layer, name);
    return subset?.gridSet.name ?? name;
  });
}

/** Share of a tile that its box is shrunk by on each side, so that rounding does not select neighbours. */
const INSET = 1e-3;

function tileLines(body: Buffer): readonly string[] {
  return body
    .toString('utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function areaOfTiles(layer: Layer, tiles: readonly string[]): Area {
  const gridSet = layer.gridSubsets.find((subset) => isWebMercator(subset.gridSet))?.gridSet;
  const projection = gridSet && projectionOf(gridSet);
  if (!gridSet || !projection) {
    throw invalid(
      `tiles are those of web mercator, which layer ${layer.name} does not have; give bounds or an area.`,
    );
  }
  const polygons = tiles.map((text) => {
    const { z, x, y } = parseTile(text, gridSet);
    const { tileSpanX, tileSpanY } = levelOf(gridSet, z);
    const inner = expandBounds(boundsOfTile(gridSet, z, x, y), -tileSpanX * INSET, -tileSpanY * INSET);
    const box = projection.boundsToWgs84(inner);
    if (!box) throw invalid(`tiles: ${text} cannot be converted to degrees.`);
    return polygonOfBounds(box);
  });
  return { polygons, crs: 'EPSG:4326' };
}

function parseTile(text: string, gridSet: GridSet): TileIndex {
  const [, z = NaN, x = NaN, y = NaN] = TILE.exec(text)?.map(Number) ?? [];
  const { columns = 0, rows = 0 } = z < gridSet.levels.length ? levelOf(gridSet, z) : {};
  if (x < columns && y < rows) return { z, x, y };
  throw invalid(
    `tiles must be z/x/y of grid set ${gridSet.name}, rows from the top, not "${shortened(text)}".`,
  );
}

export const truncateResponse = z.object({
  layer: z.string(),
  dryRun: z.boolean(),
  ...amount,
  tileSets: z.array(z.object({ ...tileSetName, ...amount })),
});
export const invalidateResponse = truncateResponse.extend({ tasks: z.array(z.number().int()) });

export async function truncate(call: Call<{ params: 'layer'; body: typeof truncateBody }>, deps: ApiDeps) {
  const { catalog, selections } = deps;
  const { layer } = boundLayer(catalog, call.params.layer);
  const body = await withShape(call.body, layer, call.body.gridSets, deps);
  const selection = requestedSelection(body, layer, 'any');
  const selected = await selections[body.dryRun ? 'count' : 'truncate'](layer.name, selection);
  return report(call, 'deleted', layer.name, body.dryRun, selected);
}

export async function invalidate(call: Call<{ params: 'layer' }>, deps: ApiDeps) {
  const { catalog, selections } = deps;
  const { layer } = boundLayer(catalog, call.params.layer);
  const request = readInvalidation(call.context);
  const body = await withShape(request, layer, request.gridSets, deps);
  const selection = requestedSelection(body, layer, 'offered');
  const by = body.renew ? authorIn(call) : null;
  const { marked, tasks } = body.dryRun
    ? { marked: await selections.count(layer.name, selection), tasks: [] }
    : await selections.invalidate(layer.name, selection, by);
  const document = report(call, 'invalidated', layer.name, body.dryRun, marked);
  return { ...document, tasks: tasks.map(({ id }) => id) };
}

/** From a body in JSON, or from a plain list of tiles with the other fields in the query. */
function readInvalidation(context: Context): z.output<typeof invalidateBody> {
  if (mediaTypeOf(context.headers) !== 'text/plain') return readBody(context, invalidateBody);
  const query = readQuery(context, invalidateQuery);
  return checkBody({ tiles: tileLines(context.body), ...query }, invalidateBody);
}

function report(
  { note }: Call,
  verb: string,
  layer: string,
  dryRun: boolean,
  selected: readonly SelectedTiles[],
) {
  const sum = (field: 'tiles' | 'bytes') => selected.reduce((total, one) => total + one[field], 0);
  const all = { dryRun, tiles: sum('tiles'), bytes: sum('bytes') };
  note({ target: `layer:${layer}`, after: all, summary: `${verb} ${all.tiles} tiles of ${layer}` });
  const tileSets = selected.map(({ set, tiles, bytes }) => {
    const { layer: _, ...names } = tileSetNames(set);
    return { ...names, tiles, bytes };
  });
  return { layer, ...all, tileSets };
}
