/** Declarations from the capabilities of a WMS or WMTS, and previews of layers that are not declared. */
import { z } from 'zod';
import { invalid } from '../../domain/errors.ts';
import { contentResponse } from '../response.ts';
import { layerOffer } from '../services/tile-json.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { tileIn } from './coverage.ts';
import { parseShallow } from './read-body.ts';
import { count, name, names, texts } from './values.ts';

export const importBody = z.strictObject({
  url: name.max(4000).describe('Address of a WMS or WMTS, or of its capabilities'),
  layers: names.exactOptional().describe('Names of layers; all when absent'),
});

export const importResponse = z.strictObject({
  layers: z.array(z.looseObject({ name: z.string() })).describe('As POST /api/v1/layers takes them'),
  gridSets: z.array(z.looseObject({ name: z.string() })).describe('As POST /api/v1/gridsets takes them'),
  missing: z
    .array(z.strictObject({ srs: z.int(), layers: count, degrees: z.array(z.number()).nullable() }))
    .describe('EPSG codes without a grid set, the number of layers with each, and their bounding box'),
  withoutGridSet: z
    .array(z.strictObject({ name: z.string(), title: z.string(), crs: texts }))
    .describe('Layers that cannot be added before a grid set for one of these CRS is declared'),
  report: z.array(
    z.strictObject({
      subject: z.string(),
      element: z.string(),
      fate: z.enum(['taken', 'changed', 'left out']),
      what: z.string(),
    }),
  ),
});

export const documentInQuery = z.string().transform(parseDocument).meta({ type: 'string' });

export const previewQuery = z.strictObject({
  document: documentInQuery.describe('The layer as POST /api/v1/layers takes it'),
});

/** Lets a map that is moved back and forth request each tile once. */
const PREVIEW_SECONDS = 60;

export async function readService(
  { body, context }: Call<{ body: typeof importBody }>,
  { imports }: ApiDeps,
) {
  const only = body.layers ?? null;
  const { report, ...service } = await imports.readService(body.url, only, context.signal);
  return { ...service, report: report.entries };
}

export function previewLayer({ query }: Call<{ query: typeof previewQuery }>, { imports }: ApiDeps) {
  return layerOffer(imports.previewLayer(query.document));
}

export async function previewTile(
  call: Call<{ query: typeof previewQuery; params: 'gridSet' | 'z' | 'x' | 'y' }>,
  { imports }: ApiDeps,
) {
  const { query, params, context } = call;
  const tile = tileIn(call);
  const preview = await imports.previewTile(query.document, params.gridSet, tile, context.signal);
  const lifetime = ['Cache-Control', `private, max-age=${PREVIEW_SECONDS}`];
  return contentResponse(preview.contentType, preview.bytes, lifetime);
}

function parseDocument(text: string): unknown {
  try {
    return parseShallow(text);
  } catch {
    throw invalid('document must be a declaration as JSON.');
  }
}
