import { z } from 'zod';
import { invalid } from '../../domain/errors.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { layerOffer } from '../services/tile-json.ts';
import { parseShallow, readBody } from '../wire/read-body.ts';
import { name, names } from '../wire/values.ts';
import { tileIn } from './coverage.ts';

export const importBody = z.strictObject({
  url: name.max(4000).describe('Address of a WMS or WMTS, or of its capabilities'),
  layers: names.exactOptional().describe('Names of layers; all when absent'),
});

export const importAnswer = z.strictObject({
  layers: z.array(z.looseObject({ name: z.string() })).describe('As POST /api/v1/layers takes them'),
  gridSets: z.array(z.looseObject({ name: z.string() })).describe('As POST /api/v1/gridsets takes them'),
  report: z.array(
    z.strictObject({
      subject: z.string(),
      element: z.string(),
      fate: z.enum(['taken', 'changed', 'left out']),
      what: z.string(),
    }),
  ),
});

export const previewQuery = z.object({
  document: z.string().describe('The layer as POST /api/v1/layers takes it'),
});

/** Seconds; a map that is moved to and fro asks once. */
const PREVIEW_SECONDS = 60;

/** `POST /api/v1/import` and `GET /api/v1/preview/…`: what a layer would be, before it is declared. */
export function importRoutes({ imports }: RouteDeps): readonly Route[] {
  const { readService, previewLayer, previewTile } = imports;
  return [
    { method: 'POST', path: '/api/v1/import', role: 'admin', asksOnly: () => true, handler: read },
    { method: 'GET', path: '/api/v1/preview', role: 'admin', handler: describe },
    { method: 'GET', path: '/api/v1/preview/{gridSet}/{z}/{x}/{y}', role: 'admin', handler: preview },
  ];

  async function read(exchange: Exchange): Promise<Answer> {
    const { url, layers: only } = readBody(exchange, importBody);
    const { layers, gridSets, report } = await readService(url, only ?? null, exchange.signal);
    return jsonAnswer({ layers, gridSets, report: report.entries });
  }

  async function describe(exchange: Exchange): Promise<Answer> {
    return jsonAnswer(layerOffer(previewLayer(documentIn(exchange))));
  }

  async function preview(exchange: Exchange): Promise<Answer> {
    const [document, tile] = [documentIn(exchange), tileIn(exchange)];
    const { gridSet = '' } = exchange.params;
    const { bytes, contentType } = await previewTile(document, gridSet, tile, exchange.signal);
    const headers = ['Content-Type', contentType, 'Cache-Control', `private, max-age=${PREVIEW_SECONDS}`];
    return { status: 200, headers, body: bytes };
  }
}

function documentIn({ query }: Pick<Exchange, 'query'>): unknown {
  const text = new URLSearchParams(query).get('document');
  try {
    return parseShallow(text ?? '');
  } catch {
    throw invalid('document must be a layer as JSON.');
  }
}
