/** `/api/v1/layers` except changes: lists and shows layers, their times, and snippets for map clients. */
import { z } from 'zod';
import { type BoundLayer, boundLayer } from '../../catalog/catalog.ts';
import type { EntryKind } from '../../catalog/catalog-entries.ts';
import { shownSource } from '../../catalog/shown-source.ts';
import { LAYER_ACCESS, type Layer, OUTSIDE_ANSWERS } from '../../domain/layer.ts';
import { isoTime } from '../../lib/clock.ts';
import { writeJson } from '../../lib/write-json.ts';
import { collectYielding } from '../../lib/yielding.ts';
import type { LayerState } from '../../pipeline/layer-activity.ts';
import { requireReadable, visibleLayers } from '../auth/layer-visibility.ts';
import { shownTo } from '../context.ts';
import { snippetsFor } from '../pages/client-snippets.ts';
import { HttpProblem } from '../problems.ts';
import { contentResponse, jsonResponse } from '../response.ts';
import { layerOffer } from '../services/tile-json.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { entityTag } from './catalog-changes.ts';
import { type OfTileSet, requestedTileSet } from './coverage.ts';
import { bounds, count, pair, texts, time, upstreamExcerpt, wholeNumber } from './values.ts';

const zoomExpiry = z
  .array(z.object({ minZoom: z.number().int(), seconds: z.number() }))
  .describe('In ascending order of zoom; overrides the field for all zooms');

const access = z.enum(LAYER_ACCESS);

export const layerFailure = z
  .object({ at: time, reason: z.string(), message: z.string(), upstream: upstreamExcerpt })
  .nullable();

const layerState = {
  changedAt: time.nullable().describe('When its tiles were last stored or removed; null: unknown'),
  failures: count.describe('Failures to create or store tiles since failuresSince'),
  failuresSince: time.describe('24 hours ago, or the start of the server: a restart forgets failures'),
  lastFailure: layerFailure.describe('The last one since the server started'),
};

export const layerListResponse = z.object({
  layers: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      enabled: z.boolean(),
      access,
      sourceType: z.string().nullable().describe('E.g. wms'),
      gridSets: texts,
      formats: texts,
      ...layerState,
    }),
  ),
});

export const layerResponse = z.object({
  origin: z
    .enum(['file', 'database', 'follow'])
    .describe('Where it is declared; file: it can only be changed there; follow: it follows a map server'),
  version: z.number().nullable(),
  document: z.unknown(),
  name: z.string(),
  title: z.string(),
  description: z.string(),
  enabled: z.boolean().describe('False: requests for its tiles are refused'),
  access,
  source: z
    .record(z.string(), z.string())
    .describe('Where its pictures come from: type, address, layers and so on; nothing secret'),
  store: z.string().nullable(),
  adopts: texts.describe('Caches of other programs that it reads: layout and place'),
  attribution: z.string(),
  gridSets: z.array(
    z.object({
      name: z.string(),
      srs: z.string(),
      extent: bounds,
      zoomStart: z.number().int(),
      zoomStop: z.number().int(),
      resolutions: z.array(z.number()),
      tileSize: pair,
      origins: z.array(pair).describe('Top left corners, one for each zoom'),
    }),
  ),
  formats: texts,
  extensions: texts,
  parameters: z.array(
    z.object({ name: z.string(), default: z.string(), values: texts.nullable().describe('null: no list') }),
  ),
  times: z
    .object({ default: z.string(), count, first: z.string(), last: z.string() })
    .nullable()
    .describe('The listed instants of its time parameter; null: it has no such parameter'),
  metatile: pair,
  gutter: z.number().int(),
  expireCacheSeconds: z.number().nullable(),
  expireCacheByZoom: zoomExpiry,
  expireClientsSeconds: z.number(),
  expireClientsByZoom: zoomExpiry,
  followSource: z.boolean(),
  staleWhileRevalidateSeconds: z.number(),
  staleIfErrorSeconds: z.number(),
  outside: z.enum(OUTSIDE_ANSWERS).nullable(),
  fullWms: z.boolean(),
  infoFormats: texts,
  ...layerState,
});

export const clientListResponse = z.object({
  base: z.string().describe('The address of the server in the texts'),
  clients: z.array(
    z.object({ id: z.string(), client: z.string(), hint: z.string(), how: z.string(), text: z.string() }),
  ),
});

export async function listLayers({ context }: Call, deps: ApiDeps) {
  const layers = await visibleLayers(context, await collectYielding(deps.catalog.layers()));
  const lines = await collectYielding(summaries(layers, deps));
  return contentResponse('application/json', `{"layers":[${lines.join()}]}`);
}

function* summaries(layers: readonly Layer[], deps: ApiDeps): Generator<string> {
  for (const layer of layers) yield writeJson(summary(layer, deps));
}

/** Few fields: a list may have thousands of layers. */
function summary(layer: Layer, { catalog, layerState }: ApiDeps) {
  const { name, title, enabled, access, gridSubsets, formats } = layer;
  const { type = null } = shownSource(catalog.layer(name)?.declared?.source);
  return {
    name,
    title,
    enabled,
    access,
    sourceType: type,
    gridSets: gridSubsets.map(({ gridSet }) => gridSet.name),
    formats: formats.map(({ mediaType }) => mediaType),
    ...stateDocument(layerState(name)),
  };
}

export async function showLayer(call: Call<{ params: 'layer' }>, deps: ApiDeps) {
  const bound = boundLayer(deps.catalog, call.params.layer);
  await requireReadable(call.context, bound.layer);
  const { name } = bound.layer;
  const followed = (await deps.follow.followOf(name)) !== null;
  return entryResponse(call, 'layer', name, layerDocument(bound, deps.layerState(name)), deps, followed);
}

export const timesQuery = z.strictObject({ count: wholeNumber(1, 500).default(100) });

export const timesResponse = z.object({
  parameter: z.string().describe('The name of its time parameter'),
  times: texts.describe('The latest listed instants, in their order'),
});

export async function listTimes(
  { context, params, query }: Call<{ params: 'layer'; query: typeof timesQuery }>,
  { catalog }: ApiDeps,
) {
  const { layer } = boundLayer(catalog, params.layer);
  await requireReadable(context, layer);
  const filter = layer.parameters.find(({ times }) => times);
  if (!filter?.times) throw new HttpProblem('path-unknown', `Layer ${layer.name} has no times.`);
  return { parameter: filter.name, times: filter.times.latest(query.count) };
}

export async function listClients(call: OfTileSet, { catalog }: ApiDeps) {
  const { baseUrl: base } = call.context;
  return { base, clients: snippetsFor(await requestedTileSet(call, catalog), base) };
}

/** Adds origin, version and document of the declaration to `shown`. `followed`: it follows a map server. */
export async function entryResponse(
  call: Call,
  kind: EntryKind,
  name: string,
  shown: object,
  { editor }: ApiDeps,
  followed = false,
) {
  const entry = await editor.show(kind, name);
  const { origin: declaredIn = 'file', version = null, document = null } = entry ?? {};
  const origin = followed && declaredIn === 'database' ? 'follow' : declaredIn;
  const tag = version === null ? [] : ['ETag', entityTag(version)];
  return jsonResponse({ ...shownTo(call, { ...shown, document }), origin, version }, tag);
}

function stateDocument({ changedAt, failuresSince, lastFailure, ...counts }: LayerState) {
  const times = { changedAt: isoTime(changedAt), failuresSince: isoTime(failuresSince) };
  return { ...counts, ...times, lastFailure: failureDocument(lastFailure) };
}

export function failureDocument(failure: LayerState['lastFailure']) {
  return failure && { ...failure, at: isoTime(failure.at) };
}

function layerDocument({ layer, declared }: BoundLayer, state: LayerState) {
  return {
    // First, since later fields override some of the layer's.
    ...Object.fromEntries(Object.entries(layer).filter(([name]) => name in layerResponse.shape)),
    source: shownSource(declared?.source),
    store: declared?.store ?? null,
    adopts: (declared?.adopt ?? []).map((adopted) => {
      const { layout, file, folder } = { file: undefined, folder: undefined, ...adopted };
      return `${layout}: ${file ?? folder}`;
    }),
    ...layerOffer(layer),
    times: layer.parameters.find(({ times }) => times)?.times?.summary() ?? null,
    metatile: [layer.metatile.columns, layer.metatile.rows],
    ...stateDocument(state),
  };
}
