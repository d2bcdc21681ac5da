import { z } from 'zod';
import { invalid } from '../../domain/errors.ts';
import type { Layer } from '../../domain/layer.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import { layerOffer } from '../services/layer-list.ts';
import { name, names } from '../wire/body-values.ts';
import { readBody } from '../wire/read-body.ts';
import { integerParam } from './layer-tiles.ts';

export interface ReadService {
  readonly layers: readonly object[];
  readonly gridSets: readonly object[];
  readonly report: { readonly entries: readonly object[] };
}

export interface ImportDeps {
  /** Reads the capabilities of a WMS or WMTS; `only`: names of layers, null: all. */
  readonly readService: (
    address: string,
    only: readonly string[] | null,
    signal: AbortSignal,
  ) => Promise<ReadService>;
  /** What a document would declare. Throws `request-invalid`. */
  readonly previewLayer: (document: unknown) => Layer;
  /** A tile of a layer that nobody has declared. Nothing is kept. */
  readonly previewTile: (
    document: unknown,
    gridSet: string,
    tile: TileIndex,
    signal: AbortSignal,
  ) => Promise<{ readonly bytes: Buffer; readonly contentType: string }>;
}

export const importBody = z.strictObject({
  url: name.max(4000).describe('Address of a WMS or WMTS, or of its capabilities'),
  layers: names.exactOptional().describe('Names of layers; all when absent'),
});

export const previewQuery = z.object({
  document: z.string().describe('The layer as POST /api/v1/layers takes it'),
});

/** Seconds; a map that is moved to and fro asks once. */
const PREVIEW_SECONDS = 60;

/** `POST /api/v1/import` and `GET /api/v1/preview/…`: what a layer would be, before it is declared. */
export function importRoutes({ readService, previewLayer, previewTile }: ImportDeps): readonly Route[] {
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
    const tile = {
      z: integerParam(exchange, 'z'),
      x: integerParam(exchange, 'x'),
      y: integerParam(exchange, 'y'),
    };
    const document = documentIn(exchange);
    const { bytes, contentType } = await previewTile(
      document,
      exchange.param('gridSet'),
      tile,
      exchange.signal,
    );
    const headers = ['Content-Type', contentType, 'Cache-Control', `private, max-age=${PREVIEW_SECONDS}`];
    return { status: 200, headers, body: bytes };
  }
}

function documentIn({ query }: Pick<Exchange, 'query'>): unknown {
  const text = new URLSearchParams(query).get('document');
  try {
    return JSON.parse(text ?? '');
  } catch {
    throw invalid('document must be a layer as JSON.');
  }
}
