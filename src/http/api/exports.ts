/** `/api/v1/exports`: archives of cached tiles, written in the background by tasks. */
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { boundLayer } from '../../catalog/catalog.ts';
import { coordsOf } from '../../domain/bounds.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import { omitUndefined } from '../../lib/omit-undefined.ts';
import { ARCHIVE_TYPES, type Task } from '../../tasks/task.ts';
import { mayView, requireLayerScope, requireReadable } from '../auth/layer-visibility.ts';
import { authorIn, createdResponse } from '../context.ts';
import { requestedRange } from '../negotiate.ts';
import { HttpProblem } from '../problems.ts';
import { jsonResponse, type Response } from '../response.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { withTaskShape } from './areas.ts';
import { refuseUnknownNames, taskBody, taskDraftOf } from './task-document.ts';
import { AREA_FIELDS, amount, count, flag, parameters, time, zoom } from './values.ts';

export const exportBody = taskBody
  .pick({ layer: true, gridSet: true, format: true, bounds: true, area: true, areaCrs: true })
  .extend({
    type: z.enum(ARCHIVE_TYPES).describe('gpkg supports every grid set'),
    parameters: parameters.exactOptional().describe('Those left out have their defaults'),
    zoomStart: zoom.exactOptional(),
    zoomStop: zoom.exactOptional(),
    dryRun: flag.describe('Only counts the tiles'),
  });

export const exportCountResponse = z.object(amount).describe('With dryRun: the tiles that would be exported');
export const exportResponse = exportBody
  .omit({ dryRun: true })
  .required()
  .extend({
    ...AREA_FIELDS,
    id: z.string(),
    state: z.enum(['pending', 'running', 'done', 'failed']),
    tiles: count.describe('Number of tiles written so far'),
    expected: count.nullable().describe('Null: not known yet'),
    bytes: count.nullable().describe('Of the finished file'),
    reason: z.string().nullable().describe('Why it failed or waits'),
    createdBy: z.string(),
    createdAt: time,
    endedAt: time.nullable(),
  });

/** Above the limit of existing exports, so that the list is complete. */
const MAX_EXPORTS = 1000;

/** Oldest first. An export is a task; docs/decisions/0290 has its states. */
async function exportTasks({ tasks }: ApiDeps): Promise<readonly Task[]> {
  return [...(await tasks.list({ exported: true, limit: MAX_EXPORTS }))].reverse();
}

export async function listExports({ caller }: Call, deps: ApiDeps) {
  const seen = (await exportTasks(deps)).filter(({ request }) => maySee(caller, request.layer, deps));
  return { exports: seen.map(exportDocument) };
}

export async function startExport(call: Call<{ body: typeof exportBody }>, deps: ApiDeps) {
  const { catalog, tasks } = deps;
  const { dryRun, layer, type, ...fields } = call.body;
  requireLayerScope(call.context, layer);
  await requireReadable(call.context, boundLayer(catalog, layer).layer);
  const shaped = await withTaskShape(layer, fields, deps);
  const { parameters: values = {}, area, areaCrs } = shaped;
  const archive = { type, parameters: values, ...omitUndefined({ area, areaCrs }) };
  const draft = { layer, archive, ...taskDraftOf(shaped) };
  refuseUnknownNames(catalog, draft);
  if (dryRun) {
    const { cachedTiles: tiles, cachedBytes: bytes } = await tasks.estimate(draft);
    return jsonResponse({ tiles, bytes });
  }
  const started = exportDocument(await tasks.create(draft, authorIn(call)));
  call.note({ target: `layer:${layer}`, after: { export: started.id, type } });
  return createdResponse(call.context, `/api/v1/exports/${started.id}`, started);
}

export async function showExport(call: Call<{ params: 'id' }>, deps: ApiDeps) {
  return exportDocument(await requestedExport(call, deps));
}

export async function removeExport(call: Call<{ params: 'id' }>, deps: ApiDeps) {
  const { id, request } = await requestedExport(call, deps);
  await deps.tasks.removeExport(id, call.caller.name);
  await deps.exports.tidy();
  call.note({ target: `layer:${request.layer}`, before: { export: request.archive?.id } });
}

export async function downloadExport(call: Call<{ params: 'id' }>, deps: ApiDeps): Promise<Response> {
  const { method, headers } = call.context;
  const { file, ...task } = await requestedExport(call, deps);
  const document = exportDocument(task);
  if (document.state !== 'done') throw new HttpProblem('conflict', `The export is ${document.state}.`);
  const size = document.bytes ?? 0;
  const title = `${document.layer.replace(/[^\w.-]+/g, '_')}.${document.type}`;
  const etag = `"${document.id}-${(task.endedAt ?? 0).toString(36)}"`;
  // RFC 9110, 14.2: ranges apply to GET only.
  const range = method === 'GET' ? requestedRange(headers, etag, size) : null;
  const { start, end } = range ?? { start: 0, end: size - 1 };
  const read = () => deps.exports.read(task.request.archive?.store ?? '', file ?? '', start, end);
  const bytes = method === 'GET' ? await read() : null;
  if (method === 'GET' && !bytes) throw unknown('The file is gone; start the export again.');
  return {
    status: range ? 206 : 200,
    headers: [
      ...['Content-Type', 'application/octet-stream', 'Content-Length', String(end - start + 1)],
      ...['Content-Disposition', `attachment; filename="${title}"`, 'ETag', etag, 'Accept-Ranges', 'bytes'],
      ...(range ? ['Content-Range', `bytes ${start}-${end}/${size}`] : []),
    ],
    body: (response, signal) =>
      void pipeline(bytes ?? [], response, { signal }).catch(() => response.destroy()),
  };
}

async function requestedExport({ caller, params }: Call<{ params: 'id' }>, deps: ApiDeps) {
  const task = (await exportTasks(deps)).find(({ request }) => request.archive?.id === params.id);
  if (!task) throw unknown('There is no such export.');
  if (maySee(caller, task.request.layer, deps)) return task;
  throw new HttpProblem('forbidden', `${caller.name} may not see this layer.`);
}

/** As for the layer itself. Exports of a removed layer are for administrators only. */
function maySee(caller: Caller, name: string, { catalog }: ApiDeps): boolean {
  const bound = catalog.layer(name);
  return bound ? mayView(caller, bound.layer) : caller.role === 'admin';
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
