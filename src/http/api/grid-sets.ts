/** `/api/v1/gridsets` except changes, and proposals and previews of grid sets. */
import { z } from 'zod';
import { type Bounds, coordsOf } from '../../domain/bounds.ts';
import { invalid, isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { subsetWithin } from '../../domain/fitting-subset.ts';
import { outlineOf, tileEdgesOf } from '../../domain/grid-lines.ts';
import { type GridSet, levelOf } from '../../domain/grid-set.ts';
import { type GridSetProposal, proposeGridSets } from '../../domain/grid-set-proposals.ts';
import { boundsFromWgs84, definitionOf, projectionOf } from '../../domain/projection.ts';
import { sameSrs } from '../../domain/srs.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { collectYielding } from '../../lib/yielding.ts';
import { visibleLayers } from '../auth/layer-visibility.ts';
import { gridSetsOf } from '../services/layer-facts.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { documentInQuery } from './imports.ts';
import { entryResponse } from './layers.ts';
import { bounds, boundsInQuery, count, pair, texts, wholeNumber } from './values.ts';

const origin = z.enum(['program', 'file', 'database']).describe('Where it is declared');

const gridSetLine = z.object({
  name: z.string(),
  aliases: texts,
  description: z.string(),
  srs: z.string(),
  extent: bounds,
  tileSize: pair,
  levels: z.array(
    z.object({
      name: z.string(),
      resolution: z.number(),
      scaleDenominator: z.number(),
      columns: count,
      rows: count,
    }),
  ),
});

export const gridSetListResponse = z.object({
  gridSets: z.array(
    gridSetLine.extend({
      origin,
      layerCount: count.describe('Layers that use it'),
      layers: texts.describe('The first 20 of them'),
    }),
  ),
});

export const gridSetResponse = gridSetLine.extend({
  origin,
  version: z.number().nullable().describe('Null: it cannot be changed here'),
  document: z.unknown().describe('In the form of the configuration file; null: it comes with the program'),
});

/** A grid set may have thousands of layers. */
const MAX_LISTED_LAYERS = 20;

const degrees = boundsInQuery.exactOptional().describe('west,south,east,north in degrees');

export const proposalsQuery = z.strictObject({
  srs: wholeNumber(1, 999_999).describe('EPSG code'),
  projection: z.string().min(1).max(1000).exactOptional().describe('PROJ definition of the CRS'),
  extent: boundsInQuery.exactOptional().describe('minX,minY,maxX,maxY of the data in units of the CRS'),
  degrees,
});

export const proposalsResponse = z.object({
  srs: z.string(),
  known: z.boolean().describe('False: the CRS needs a PROJ definition to be placed on the earth'),
  gridSets: texts.describe('Existing grid sets in this CRS'),
  proposals: z
    .array(
      z.object({
        country: z.string().nullable().describe('ISO 3166-1 alpha-2; null: computed from the extent'),
        publisher: z.string().nullable(),
        covers: z.boolean().describe('Whether it covers the whole extent'),
        document: z.looseObject({ name: z.string() }).describe('As POST /api/v1/gridsets takes it'),
      }),
    )
    .describe('Best first; if empty, give an extent'),
});

export const gridPreviewQuery = z.strictObject({
  gridSet: z.string().exactOptional().describe('Name of an existing grid set'),
  document: documentInQuery.exactOptional().describe('Or a grid set as POST /api/v1/gridsets takes it'),
  zoom: wholeNumber(0, 30).exactOptional(),
  degrees: degrees.describe('west,south,east,north: only tiles here are drawn if there are too many in all'),
  like: z.string().exactOptional().describe('Another grid set: `part` is for a layer that has this one too'),
  extent: boundsInQuery
    .exactOptional()
    .describe('Of the layer there, in units of its CRS; the default is all of it'),
});

const lines = z.array(z.array(pair)).nullable();

export const gridPreviewResponse = gridSetLine.omit({ levels: true }).extend({
  zooms: count,
  resolution: z.number().describe('Of the zoom, in units of the CRS'),
  columns: count,
  rows: count,
  outline: lines.describe('Lines in longitude and latitude; null: the CRS is unknown'),
  tiles: lines.describe('Edges of the tiles of the zoom; null: there are too many, or the CRS is unknown'),
  part: z
    .object({ name: z.string(), extent: z.array(z.number()).exactOptional() })
    .describe('As an entry of `gridSets` of the layer with `like`'),
});

/** Grid sets that layers use; unused ones only if they do not come with the program. */
export async function listGridSets({ context }: Call, { catalog, editor }: ApiDeps) {
  const layers = await visibleLayers(context, await collectYielding(catalog.layers()));
  const users = new Map<string, string[]>();
  for (const { name, gridSubsets } of layers) {
    for (const { gridSet } of gridSubsets) getOrCreate(users, gridSet.name, (): string[] => []).push(name);
  }
  const originOf = ({ name }: GridSet) => editor.gridSetOrigin(name);
  const used = gridSetsOf(layers);
  const others = catalog.gridSets.gridSets.filter(
    (gridSet) => !users.has(gridSet.name) && originOf(gridSet) !== 'program',
  );
  return {
    gridSets: [...used, ...others].map((gridSet) => ({
      ...gridSetDocument(gridSet),
      origin: originOf(gridSet),
      layerCount: users.get(gridSet.name)?.length ?? 0,
      layers: (users.get(gridSet.name) ?? []).slice(0, MAX_LISTED_LAYERS),
    })),
  };
}

export async function showGridSet(call: Call<{ params: 'gridSet' }>, deps: ApiDeps) {
  const gridSet = requestedGridSet(call.params.gridSet, deps);
  return entryResponse(call, 'grid-set', gridSet.name, gridSetDocument(gridSet), deps);
}

export function listProposals({ query }: Call<{ query: typeof proposalsQuery }>, { catalog }: ApiDeps) {
  const { srs, projection = null } = query;
  const extent = query.extent ?? (query.degrees ? inCrs(srs, projection, query.degrees) : null);
  const proposals = asRequestError(() =>
    proposeGridSets({ srs, projection, extent, isTaken: (name) => catalog.gridSets.find(name) !== null }),
  );
  const sameCrs = catalog.gridSets.gridSets.filter((gridSet) => sameSrs(gridSet.srs, srs));
  return {
    srs: `EPSG:${srs}`,
    known: definitionOf({ srs, projection }) !== null,
    gridSets: sameCrs.map(({ name }) => name),
    proposals: proposals.map(({ options, ...proposal }) => ({ ...proposal, document: asDocument(options) })),
  };
}

export function previewGridSet({ query }: Call<{ query: typeof gridPreviewQuery }>, deps: ApiDeps) {
  const { gridSet: name, document, zoom = 0 } = query;
  if ((name === undefined) === (document === undefined))
    throw invalid('Give gridSet or document, one of them.');
  const gridSet = name === undefined ? deps.imports.previewGridSet(document) : requestedGridSet(name, deps);
  const { columns, rows, resolution } = asRequestError(() => levelOf(gridSet, zoom));
  const within = query.degrees ? inCrs(gridSet.srs, gridSet.projection, query.degrees) : null;
  const { levels, ...shown } = gridSetDocument(gridSet);
  const outline = outlineOf(gridSet);
  const tiles = tileEdgesOf(gridSet, zoom, null) ?? (within && tileEdgesOf(gridSet, zoom, within));
  const part =
    query.like === undefined ? { name: gridSet.name } : partLike(gridSet, query.like, query.extent, deps);
  return { ...shown, zooms: levels.length, resolution, columns, rows, outline, tiles, part };
}

/** The part of a grid set where a layer is that has `extent` in another one. Throws `request-invalid` if there is none. */
function partLike(gridSet: GridSet, like: string, extent: Bounds | undefined, deps: ApiDeps) {
  const other = requestedGridSet(like, deps);
  const part = subsetWithin(gridSet, projectionOf(other)?.boundsToWgs84(extent ?? other.extent) ?? null);
  if (part) return part;
  throw invalid(`Grid set ${gridSet.name} does not reach the extent that the layer has in ${like}.`);
}

function requestedGridSet(name: string, { catalog }: ApiDeps): GridSet {
  const gridSet = catalog.gridSets.find(name);
  if (gridSet) return gridSet;
  throw new TilewardenError('entry-unknown', 'There is no such grid set.');
}

function inCrs(srs: number, projection: string | null, box: Bounds): Bounds | null {
  const crs = asRequestError(() => projectionOf({ srs, projection }));
  return crs && boundsFromWgs84(crs, box);
}

/** Turns errors of the configuration into `request-invalid`: the definition is from the request. */
function asRequestError<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw isTilewardenError(error) ? invalid(error.message) : error;
  }
}

function asDocument({ extent, tileWidth = 256, tileHeight = 256, ...options }: GridSetProposal['options']) {
  const tileSize = tileWidth === 256 && tileHeight === 256 ? {} : { tileSize: [tileWidth, tileHeight] };
  return { ...options, extent: coordsOf(extent), ...tileSize };
}

function gridSetDocument(gridSet: GridSet) {
  return {
    name: gridSet.name,
    aliases: gridSet.aliases,
    description: gridSet.description,
    srs: `EPSG:${gridSet.srs}`,
    extent: coordsOf(gridSet.extent),
    tileSize: [gridSet.tileWidth, gridSet.tileHeight],
    levels: gridSet.levels.map(({ name, resolution, scaleDenominator, columns, rows }) => ({
      name,
      resolution,
      scaleDenominator,
      columns,
      rows,
    })),
  };
}
