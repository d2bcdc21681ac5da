/** Tasks as JSON: the body that creates a task, and the document that shows it. */
import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import { coordsOf } from '../../domain/bounds.ts';
import { refuseUnknownParameters } from '../../domain/parameter-filter.ts';
import { isoTime } from '../../lib/clock.ts';
import { MAX_USED_PAGES } from '../../tasks/pages-by-use.ts';
import {
  TASK_OUTCOMES,
  TASK_STATES,
  TASK_TYPES,
  type Task,
  type TaskWait,
  WORK_TYPES,
} from '../../tasks/task.ts';
import type { TaskDraft } from '../../tasks/task-draft.ts';
import { waitText } from '../../tasks/task-watch.ts';
import {
  type AreaFields,
  areaName,
  areaShown,
  bounds,
  closedReason,
  count,
  flag,
  NAMED_AREA_FIELDS,
  name,
  parameters,
  requestedArea,
  time,
  upstreamExcerpt,
} from './values.ts';

const HIDDEN_HOST = '***';
const ABSENT_IS_DEFAULT = 'the default when absent or -1';
const zoom = z.int().min(0);

export const taskBody = z.strictObject({
  layer: name,
  type: z.enum(WORK_TYPES).default('seed'),
  gridSet: name.exactOptional().describe("The layer's first when absent"),
  format: name.exactOptional().describe("The layer's first when absent"),
  zoomStart: zoom.exactOptional().describe("The layer's first when absent"),
  zoomStop: zoom.exactOptional().describe("The layer's last when absent or greater"),
  bounds: bounds.exactOptional(),
  ...NAMED_AREA_FIELDS,
  parameters: parameters.exactOptional().describe('Those left out have their defaults; all when absent'),
  threadCount: z.int().exactOptional().describe('Of truncate always 1'),
  priority: z.int().min(-10).max(10).exactOptional().describe('Higher goes first; 0 when absent'),
  order: z
    .enum(['zoom', 'use'])
    .exactOptional()
    .describe('use: the most used pages (16×16 tiles) first, each with those below; absent: low zooms first'),
  share: z.number().gt(0).max(1).exactOptional().describe('With order use: share of all use; default: 0.95'),
  uses: z
    .array(z.tuple([zoom, zoom, zoom, z.number().gt(0)]))
    .min(1)
    .max(MAX_USED_PAGES)
    .exactOptional()
    .describe('With order use: zoom, column and row of pages, and their requests; absent: the recorded use'),
  tileFailureRetryCount: z.int().min(-1).exactOptional().describe(ABSENT_IS_DEFAULT),
  tileFailureRetryWaitTime: z.int().min(-1).exactOptional().describe(`Milliseconds; ${ABSENT_IS_DEFAULT}`),
  totalFailuresBeforeAborting: z.int().min(-1).exactOptional().describe(ABSENT_IS_DEFAULT),
  idempotencyKey: name
    .exactOptional()
    .describe('A repeat with the key, by the same account, returns the first task; another request is a 409'),
  every: flag.describe(
    'A task for each format and listed parameter value, in place of format and parameters; the response is the first one. A truncate is one task for all cached tiles',
  ),
  dryRun: flag.describe('Only estimates the task'),
});

export const taskResponse = z.object({
  id: z.number().int(),
  layer: z.string(),
  type: z.enum(TASK_TYPES),
  state: z.enum(TASK_STATES),
  outcome: z
    .enum(TASK_OUTCOMES)
    .nullable()
    .describe('How it ended: partial: some tiles failed; failed: it was aborted; null: it has not ended'),
  tilesProcessed: count,
  tilesTotal: count,
  zooms: z // Added by `showTask`.
    .array(z.object({ z: z.number().int(), tiles: count, processed: count }))
    .nullable()
    .optional()
    .describe('Only of a single task: progress by zoom, which adds up to tilesProcessed; null: unknown'),
  secondsRemaining: z.number().describe('-1 while it is unknown'),
  tilesPerSecond: z.number(),
  reason: z.string().nullable(),
  waitingFor: z
    .object({
      host: z.string().nullable().describe('Null: the task waits for a store'),
      until: time,
      reason: z.enum([...closedReason.options, 'store-full', 'store-failed']),
      text: z.string(),
    })
    .nullable()
    .describe('What the task waits for; null: nothing'),
  gridSet: z.string(),
  format: z.string(),
  parameters,
  zoomStart: z.number().int(),
  zoomStop: z.number().int(),
  bounds,
  area: areaShown.nullable(),
  areaName,
  onlyStale: z.boolean().describe('Renews stale tiles and makes no missing ones'),
  threadCount: z.number().int(),
  priority: z.number().int(),
  order: z.enum(['zoom', 'use']),
  share: z.number().nullable().describe('Of the use, with order use'),
  tileFailureRetryCount: z.number().int(),
  tileFailureRetryWaitTime: z.number().int(),
  totalFailuresBeforeAborting: z.number().int(),
  counters: z.object({
    made: count,
    present: count,
    removed: count,
    blank: count,
    failed: count,
    bytes: count,
    upstreamRequests: count,
  }),
  evictedTiles: count.optional().describe('Tiles of any layer that were evicted during the task'),
  evictedBytes: count.optional(),
  errors: z.array(
    z.object({
      at: time,
      z: z.number(),
      x: z.number(),
      y: z.number(),
      message: z.string(),
      upstream: upstreamExcerpt,
    }),
  ),
  createdBy: z.string(),
  createdAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  durationMs: z.number().nullable().describe('From start to end, or until now; null before the start'),
});

export const taskListResponse = z.object({
  tasks: z.array(taskResponse),
  counts: z
    .object({
      state: z.record(z.enum(TASK_STATES), count),
      outcome: z.record(z.enum(TASK_OUTCOMES), count),
    })
    .describe('All matching tasks, those of other pages included'),
  nextAfter: z.number().int().nullable().describe('For `after`, to get the next page; null: the last one'),
});

type NotInDraft = 'type' | 'dryRun' | 'layer' | 'idempotencyKey' | 'every';
/** Fields of a request for a task, a schedule or an export, after `withShape`. */
type DraftFields = Omit<z.output<typeof taskBody>, NotInDraft | 'bounds' | 'area'> &
  AreaFields & { readonly bounds?: readonly number[]; readonly areaName?: string };

export function taskDraftOf(body: DraftFields): Omit<TaskDraft, 'type' | 'layer'> {
  const { gridSet, bounds: coords, area: _, areaCrs: __, parameters: values, uses, ...plain } = body;
  const area = requestedArea(body);
  return {
    ...plain,
    ...(gridSet !== undefined && { gridSetId: gridSet }),
    ...(coords && { coords }),
    ...(area && { area }),
    ...(uses && { uses: uses.map(([z, pageX, pageY, count]) => ({ z, pageX, pageY, uses: count })) }),
    ...(values && { parameters: new Map(Object.entries(values)) }),
  };
}

/** Throws for parameters that the layer does not have. It does not check whether the layer exists. */
export function refuseUnknownNames(
  catalog: Pick<Catalog, 'layer'>,
  { layer, parameters: values }: Pick<TaskDraft, 'layer' | 'parameters'>,
): void {
  const bound = catalog.layer(layer);
  if (bound && values) refuseUnknownParameters(bound.layer.parameters, values);
}

export function taskDocument({ id, eventId: _, request, file: _file, ...task }: Task, now: number): object {
  const { layer, type, parametersId: _id, waitsForHosts: _waits, bounds: box, area, ...fields } = request;
  const { archive: _archive, ...shown } = fields;
  return {
    id,
    layer,
    type,
    ...task,
    order: 'zoom', // As the next two: unless the request has it.
    share: null,
    areaName: null,
    ...shown,
    secondsRemaining: Math.ceil(task.secondsRemaining),
    waitingFor: task.waitingFor && waitDocument(task.waitingFor),
    bounds: coordsOf(box),
    area: area && { type: 'MultiPolygon', coordinates: area },
    errors: task.errors.map((error) => ({
      ...error,
      at: isoTime(error.at),
      upstream: error.upstream ?? null,
    })),
    createdAt: isoTime(task.createdAt),
    startedAt: isoTime(task.startedAt),
    endedAt: isoTime(task.endedAt),
    durationMs: task.startedAt === null ? null : Math.max(0, (task.endedAt ?? now) - task.startedAt),
  };
}

/** Hides the map server and its responses, from a caller that may not see the layer. */
export function withoutUpstream(task: Task): Task {
  const { waitingFor: wait } = task;
  const hidden = wait && 'host' in wait ? { ...wait, host: HIDDEN_HOST } : wait;
  return {
    ...task,
    errors: task.errors.map((error) => ({ ...error, upstream: null })),
    // A reason that names a host begins with it, also that of a task which waited too long for one.
    reason: task.reason?.replace(/^host \S+/, `host ${HIDDEN_HOST}`) ?? null,
    waitingFor: hidden,
  };
}

function waitDocument(wait: TaskWait): object {
  const host = 'host' in wait ? wait.host : null;
  return { host, until: isoTime(wait.until), reason: wait.reason, text: waitText(wait) };
}
