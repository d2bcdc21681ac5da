import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type Caller, mayWorkOn } from '../../access/caller.ts';
import { boundLayer, type Catalog } from '../../catalog/catalog.ts';
import { coordsOf } from '../../domain/bounds.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import { withoutAbsent } from '../../lib/without-absent.ts';
import { ARCHIVE_TYPES, type Task } from '../../tasks/task.ts';
import type { TaskService } from '../../tasks/task-service.ts';
import { askedPart } from '../answer/negotiate.ts';
import { type Answer, jsonAnswer, NOTHING } from '../answer.ts';
import { refuseForeignLayer } from '../door/gate.ts';
import { mayLookAt, refuseOthers } from '../door/layer-visibility.ts';
import { authorIn, callerName, createdAnswer, type Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import { isDryRun, readBody } from '../wire/read-body.ts';
import { refuseUnknownNames, taskDraftOf } from '../wire/task-document.ts';
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
  type: z.enum(ARCHIVE_TYPES).describe('The last takes every grid set'),
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

/** Files that exports have made. */
export interface ExportFiles {
  /** From the first byte to the last one named; null: it is gone. */
  read(store: string, name: string, start: number, end: number): Promise<Readable | null>;
  /** Removes the files of exports that are no longer listed. */
  tidy(): Promise<void>;
}

interface ExportDeps {
  readonly tasks: Pick<TaskService, 'list' | 'create' | 'estimate' | 'removeExport'>;
  readonly exports: ExportFiles;
  readonly catalog: Pick<Catalog, 'layer'>;
}
/** There are fewer. */
const HIGHEST_LIMIT = 1000;

/** `/api/v1/exports`: cached tiles as a file to be downloaded. A view of tasks; docs/decisions/0290 has their states. */
export function exportRoutes({ tasks, exports, catalog }: ExportDeps): readonly Route[] {
  const path = '/api/v1/exports';
  const role = 'operator';
  return [
    { method: 'GET', path, role, handler: list },
    { method: 'POST', path, role, handler: start, asksOnly: isDryRun },
    { method: 'GET', path: `${path}/{id}`, role, handler: show },
    { method: 'DELETE', path: `${path}/{id}`, role, handler: remove },
    { method: 'GET', path: `${path}/{id}/file`, role, handler: download },
  ];

  /** Oldest first. */
  async function all(): Promise<readonly Task[]> {
    return [...(await tasks.list({ exported: true, limit: HIGHEST_LIMIT }))].reverse();
  }

  async function list({ caller }: Exchange): Promise<Answer> {
    const seen = (await all()).filter(({ request }) => !caller || maySee(caller, request.layer));
    return jsonAnswer({ exports: seen.map(exportDocument) });
  }

  async function start(exchange: Exchange): Promise<Answer> {
    const { dryRun, layer, type, ...part } = readBody(exchange, exportBody);
    refuseForeignLayer(exchange.caller, layer);
    await refuseOthers(exchange, boundLayer(catalog, layer).layer);
    const { parameters: values = {}, area, areaCrs } = part;
    const archive = { type, parameters: values, ...withoutAbsent({ area, areaCrs }) };
    const draft = { layer, archive, ...taskDraftOf(part) };
    refuseUnknownNames(catalog, draft);
    if (dryRun) {
      const { cachedTiles: tiles, cachedBytes: bytes } = await tasks.estimate(draft);
      return jsonAnswer({ tiles, bytes });
    }
    const started = exportDocument(await tasks.create(draft, authorIn(exchange)));
    exchange.change = { target: `layer:${layer}`, after: { export: started.id, type } };
    return createdAnswer(exchange, `${path}/${started.id}`, started);
  }

  async function show(exchange: Exchange): Promise<Answer> {
    return jsonAnswer(exportDocument(await own(exchange)));
  }

  async function remove(exchange: Exchange): Promise<Answer> {
    const { id, request } = await own(exchange);
    await tasks.removeExport(id, callerName(exchange));
    await exports.tidy();
    exchange.change = { target: `layer:${request.layer}`, before: { export: request.archive?.id } };
    return NOTHING;
  }

  async function download(exchange: Exchange): Promise<Answer> {
    const { file, ...task } = await own(exchange);
    const document = exportDocument(task);
    if (document.state !== 'done') throw new HttpProblem('conflict', `The export is ${document.state}.`);
    const size = document.bytes ?? 0;
    const shown = `${document.layer.replace(/[^\w.-]+/g, '_')}.${document.type}`;
    const etag = `"${document.id}-${(task.endedAt ?? 0).toString(36)}"`;
    // RFC 9110, 14.2: a range means something with GET only.
    const part = exchange.method === 'GET' ? askedPart(exchange.headers, etag, size) : null;
    const { start, end } = part ?? { start: 0, end: size - 1 };
    const read = () => exports.read(task.request.archive?.store ?? '', file ?? '', start, end);
    const bytes = exchange.method === 'GET' ? await read() : null;
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
    const found = (await all()).find(({ request }) => request.archive?.id === params.id);
    if (!found) throw unknown('There is no such export.');
    if (!caller || maySee(caller, found.request.layer)) return found;
    throw new HttpProblem('forbidden', `${caller.name} may not see this layer.`);
  }

  /** As the layer itself. For whom a removed layer was is not known any more: administrators delete what is left of it. */
  function maySee(caller: Caller, name: string): boolean {
    const bound = catalog.layer(name);
    return bound ? mayWorkOn(caller, name) && mayLookAt(caller, bound.layer) : caller.role === 'admin';
  }
}

const STATES = {
  pending: 'pending',
  paused: 'pending',
  running: 'running',
  done: 'done',
  aborted: 'failed',
} as const;

function exportDocument({ request, ...task }: Omit<Task, 'file'>) {
  const { layer, gridSet, format, zoomStart, zoomStop, bounds: box } = request;
  const { id = '', store: _, since: __, ...order } = request.archive ?? {};
  return {
    id,
    layer,
    gridSet,
    format,
    zoomStart,
    zoomStop,
    bounds: coordsOf(box),
    ...order,
    state: task.waitingFor ? 'pending' : STATES[task.state],
    tiles: Number(task.tilesProcessed),
    expected: task.tilesTotal === 0n ? null : Number(task.tilesTotal),
    bytes: task.counters.bytes || null,
    reason: task.reason,
    createdBy: task.createdBy,
    createdAt: isoTime(task.createdAt),
    endedAt: isoTime(task.endedAt),
  };
}

function unknown(message: string): TilewardenError {
  return new TilewardenError('entry-unknown', message);
}
