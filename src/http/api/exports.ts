import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { mayWorkOn } from '../../access/caller.ts';
import { boundLayer, type Catalog } from '../../catalog/catalog.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import type { MassTruncation } from '../../tasks/mass-truncation.ts';
import { askedPart } from '../answer/negotiate.ts';
import { type Answer, jsonAnswer, NOTHING } from '../answer.ts';
import { refuseForeignLayer } from '../door/gate.ts';
import { callerName, createdAnswer, type Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import { isDryRun, readBody } from '../wire/read-body.ts';
import { selectionOf } from '../wire/tile-selection.ts';
import {
  AREA_FIELDS,
  amount,
  bounds,
  flag,
  name,
  count as number,
  parameters,
  time,
  zoom,
} from '../wire/values.ts';

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
  dryRun: flag.describe('Only counts the tiles'),
});

export const exportCountAnswer = z.object(amount).describe('With dryRun: the tiles that would be exported');
export const exportAnswer = exportBody
  .omit({ dryRun: true })
  .required()
  .extend({
    ...AREA_FIELDS,
    id: z.string(),
    state: z.enum(['pending', 'running', 'done', 'failed']),
    tiles: number.describe('Written so far'),
    expected: number.nullable().describe('Null while it is not known'),
    bytes: number.nullable().describe('Of the finished file'),
    reason: z.string().nullable().describe('Why it failed or has to wait'),
    createdBy: z.string(),
    createdAt: time,
    endedAt: time.nullable(),
  });

export type ExportDocument = z.output<typeof exportAnswer>;

/** Files that are made of cached tiles in the background. */
export interface Exports {
  list(): Promise<readonly ExportDocument[]>;
  /** `read` answers bytes of its file, from the first to the last, or null when it is gone. */
  find(id: string): Promise<{
    readonly document: ExportDocument;
    read(start: number, end: number): Promise<Readable | null>;
  } | null>;
  /** What was exported before is made anew. Throws `request-invalid` and the like. */
  start(order: Order, createdBy: string): Promise<ExportDocument>;
  /** Stops it and removes its file. */
  remove(id: string): Promise<void>;
}

interface ExportDeps {
  readonly exports: Exports;
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly massTruncation: Pick<MassTruncation, 'truncateSelection'>;
}
type Order = Omit<z.output<typeof exportBody>, 'dryRun'>;

/** `/api/v1/exports`: cached tiles as a file to be downloaded. */
export function exportRoutes({ exports, catalog, massTruncation }: ExportDeps): readonly Route[] {
  const path = '/api/v1/exports';
  const role = 'operator';
  return [
    { method: 'GET', path, role, handler: list },
    { method: 'POST', path, role, handler: start, asksOnly: isDryRun },
    { method: 'GET', path: `${path}/{id}`, role, handler: show },
    { method: 'DELETE', path: `${path}/{id}`, role, handler: remove },
    { method: 'GET', path: `${path}/{id}/file`, role, handler: download },
  ];

  async function list({ caller }: Exchange): Promise<Answer> {
    const seen = (await exports.list()).filter(({ layer }) => !caller || mayWorkOn(caller, layer));
    return jsonAnswer({ exports: seen });
  }

  async function start(exchange: Exchange): Promise<Answer> {
    const { dryRun, ...order } = readBody(exchange, exportBody);
    refuseForeignLayer(exchange.caller, order.layer);
    if (dryRun) return jsonAnswer(await count(order));
    const started = await exports.start(order, callerName(exchange));
    exchange.change = { target: `layer:${order.layer}`, after: { export: started.id, type: order.type } };
    return createdAnswer(exchange, `${path}/${started.id}`, started);
  }

  /** By the selection that a truncation of the same tiles has. */
  async function count({ type: _, layer: name, gridSet, format, ...order }: Order) {
    const bound = boundLayer(catalog, name);
    const { parameters: values = {}, ...place } = order;
    const named = {
      gridSet: gridSet ?? null,
      format: format ?? null,
      parameters: new Map(Object.entries(values)),
    };
    const { set } = resolveTileSet(bound, named);
    const names = { gridSets: [set.gridSet], formats: [set.format], parameters: values };
    const selection = selectionOf({ ...place, ...names }, bound.layer, 'offered');
    const found = await massTruncation.truncateSelection(set.layer, selection, true);
    // Without the tiles for dense screens, which are exported under their own name.
    const own = found.find((one) => one.set.gridSet === set.gridSet);
    return { tiles: own?.tiles ?? 0, bytes: own?.bytes ?? 0 };
  }

  async function show(exchange: Exchange): Promise<Answer> {
    return jsonAnswer((await own(exchange)).document);
  }

  async function remove(exchange: Exchange): Promise<Answer> {
    const { id, layer } = (await own(exchange)).document;
    await exports.remove(id);
    exchange.change = { target: `layer:${layer}`, before: { export: id } };
    return NOTHING;
  }

  async function download(exchange: Exchange): Promise<Answer> {
    const { document, read } = await own(exchange);
    if (document.state !== 'done') throw new HttpProblem('conflict', `The export is ${document.state}.`);
    const size = document.bytes ?? 0;
    const shown = `${document.layer.replace(/[^\w.-]+/g, '_')}.${document.type}`;
    const etag = `"${document.id}-${Date.parse(document.endedAt ?? '').toString(36)}"`;
    // RFC 9110, 14.2: a range means something with GET only.
    const part = exchange.method === 'GET' ? askedPart(exchange.headers, etag, size) : null;
    const { start, end } = part ?? { start: 0, end: size - 1 };
    const bytes = exchange.method === 'GET' ? await read(start, end) : null;
    if (exchange.method === 'GET' && !bytes) throw unknown('The file is gone; start the export again.');
    return {
      status: part ? 206 : 200,
      headers: [
        ...['Content-Type', 'application/octet-stream', 'Content-Length', String(end - start + 1)],
        ...['Content-Disposition', `attachment; filename="${shown}"`, 'ETag', etag, 'Accept-Ranges', 'bytes'],
        ...(part ? ['Content-Range', `bytes ${start}-${end}/${size}`] : []),
      ],
      body: (response, signal) =>
        void pipeline(bytes ?? [], response, { signal }).catch(() => response.destroy()),
    };
  }

  async function own({ caller, params }: Exchange) {
    const found = await exports.find(params.id ?? '');
    if (!found) throw unknown('There is no such export.');
    refuseForeignLayer(caller, found.document.layer);
    return found;
  }
}

function unknown(message: string): TilewardenError {
  return new TilewardenError('entry-unknown', message);
}
