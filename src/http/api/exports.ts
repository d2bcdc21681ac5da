import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { mayWorkOn } from '../../access/caller.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { askedPart } from '../answer/negotiate.ts';
import { type Answer, jsonAnswer, NOTHING } from '../answer.ts';
import { refuseForeignLayer } from '../door/gate.ts';
import { callerName, createdAnswer, type Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import { readBody } from '../wire/read-body.ts';
import { AREA_FIELDS, bounds, count, name, parameters, time, zoom } from '../wire/values.ts';

export const exportBody = z.strictObject({
  layer: name,
  type: z.enum(['mbtiles', 'pmtiles', 'gpkg']).describe('The last takes every grid set'),
  gridSet: name.exactOptional().describe("The layer's first when absent"),
  format: name.exactOptional().describe("The layer's first when absent"),
  parameters: parameters.exactOptional().describe('Those left out have their defaults'),
  zoomStart: zoom.exactOptional(),
  zoomStop: zoom.exactOptional(),
  bounds: bounds.exactOptional(),
  ...AREA_FIELDS,
});

export const exportAnswer = exportBody.required().extend({
  ...AREA_FIELDS,
  id: z.string(),
  state: z.enum(['pending', 'running', 'done', 'failed']),
  tiles: count.describe('Written so far'),
  expected: count.nullable().describe('Null while it is not known'),
  bytes: count.nullable().describe('Of the finished file'),
  reason: z.string().nullable().describe('Why it failed'),
  createdBy: z.string(),
  createdAt: time,
  endedAt: time.nullable(),
});

export type ExportDocument = z.output<typeof exportAnswer>;

/** Files that are made of cached tiles in the background. */
export interface Exports {
  list(): readonly ExportDocument[];
  /** What was exported before is made anew. Throws `request-invalid` and the like. */
  start(order: z.output<typeof exportBody>, createdBy: string): Promise<ExportDocument>;
  /** Stops it and removes its file. */
  remove(id: string): Promise<void>;
  fileOf(document: ExportDocument): string;
}

/** `/api/v1/exports`: cached tiles as a file to be downloaded. */
export function exportRoutes({ exports }: { readonly exports: Exports }): readonly Route[] {
  const path = '/api/v1/exports';
  const role = 'operator';
  return [
    { method: 'GET', path, role, handler: list },
    { method: 'POST', path, role, handler: start },
    { method: 'GET', path: `${path}/{id}`, role, handler: (exchange) => jsonAnswer(own(exchange)) },
    { method: 'DELETE', path: `${path}/{id}`, role, handler: remove },
    { method: 'GET', path: `${path}/{id}/file`, role, handler: download },
  ];

  function list({ caller }: Exchange): Answer {
    const seen = exports.list().filter(({ layer }) => !caller || mayWorkOn(caller, layer));
    return jsonAnswer({ exports: seen });
  }

  async function start(exchange: Exchange): Promise<Answer> {
    const order = readBody(exchange, exportBody);
    refuseForeignLayer(exchange.caller, order.layer);
    const started = await exports.start(order, callerName(exchange));
    exchange.change = { target: `layer:${order.layer}`, after: { export: started.id, type: order.type } };
    return createdAnswer(exchange, `${path}/${started.id}`, started);
  }

  async function remove(exchange: Exchange): Promise<Answer> {
    const { id, layer } = own(exchange);
    await exports.remove(id);
    exchange.change = { target: `layer:${layer}`, before: { export: id } };
    return NOTHING;
  }

  async function download(exchange: Exchange): Promise<Answer> {
    const document = own(exchange);
    if (document.state !== 'done') throw new HttpProblem('conflict', `The export is ${document.state}.`);
    const file = exports.fileOf(document);
    const { size } = await stat(file);
    const shown = `${document.layer.replace(/[^\w.-]+/g, '_')}.${document.type}`;
    const etag = `"${document.id}-${Date.parse(document.endedAt ?? '').toString(36)}"`;
    // RFC 9110, 14.2: a range means something with GET only.
    const part = exchange.method === 'GET' ? askedPart(exchange.headers, etag, size) : null;
    const { start, end } = part ?? { start: 0, end: size - 1 };
    return {
      status: part ? 206 : 200,
      headers: [
        ...['Content-Type', 'application/octet-stream', 'Content-Length', String(end - start + 1)],
        ...['Content-Disposition', `attachment; filename="${shown}"`, 'ETag', etag, 'Accept-Ranges', 'bytes'],
        ...(part ? ['Content-Range', `bytes ${start}-${end}/${size}`] : []),
      ],
      body: (response, signal) =>
        void pipeline(createReadStream(file, { start, end }), response, { signal }).catch(() =>
          response.destroy(),
        ),
    };
  }

  function own({ caller, params }: Exchange): ExportDocument {
    const found = exports.list().find(({ id }) => id === params.id);
    if (!found) throw new TilewardenError('entry-unknown', 'There is no such export.');
    refuseForeignLayer(caller, found.layer);
    return found;
  }
}
