import { z } from 'zod';
import { isTilewardenError } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import {
  OVERRUNS,
  RUN_STATES,
  SCHEDULED_WORK,
  type Schedule,
  type ScheduleDeclaration,
  type ScheduleRun,
} from '../../tasks/schedules/schedule.ts';
import { createTimetable } from '../../tasks/schedules/timetable.ts';
import { taskBody, taskDraftOf } from './task-document.ts';
import { AREA_CRS, type AreaFields, areaShown, bounds, parameters, time } from './values.ts';

const ANY_TIME = { cron: '@daily', timeZone: 'UTC', hours: null };

/** The fields of a task and of a timetable. */
export const scheduleBody = taskBody
  .omit({ idempotencyKey: true, dryRun: true, uses: true, every: true })
  .extend({
    name: z
      .string()
      .max(200)
      .regex(/^(?=\S)\P{Cc}*(?<=\S)$/u, { error: 'must be printable, without space at either end' })
      .describe('Unique within the layer'),
    type: z.enum(SCHEDULED_WORK).default('seed').describe('What to do'),
    cron: z
      .string()
      .superRefine(readable('cron'))
      .describe('When to run: minute, hour, day of month, month, day of week'),
    timeZone: z
      .string()
      .superRefine(readable('timeZone'))
      .default('UTC')
      .describe('For cron and hours; an IANA name such as Europe/Berlin'),
    hours: z
      .string()
      .superRefine(readable('hours'))
      .nullable()
      .default(null)
      .describe('Work is done within these hours only, e.g. 22:00-06:00; null: at any hour'),
    overrun: z
      .enum(OVERRUNS)
      .default('pause')
      .describe('What happens to a task that is not done when its hours are over'),
    enabled: z.boolean().default(true),
  });

export const runResponse = z.object({
  dueAt: time,
  at: time,
  state: z.enum(RUN_STATES),
  taskId: z.number().int().nullable(),
  detail: z.string().nullable(),
});

/** Null: the default of a task. */
const taskFields = {
  gridSet: z.string().nullable(),
  format: z.string().nullable(),
  parameters: parameters.nullable(),
  zoomStart: z.number().int().nullable(),
  zoomStop: z.number().int().nullable(),
  bounds: bounds.nullable(),
  area: areaShown.nullable(),
  areaCrs: z.enum(AREA_CRS).nullable(),
  threadCount: z.number().int().nullable(),
  priority: z.number().int().nullable(),
  order: z.enum(['zoom', 'use']).nullable(),
  share: z.number().nullable(),
  tileFailureRetryCount: z.number().int().nullable(),
  tileFailureRetryWaitTime: z.number().int().nullable(),
  totalFailuresBeforeAborting: z.number().int().nullable(),
};

export const scheduleResponse = z.object({
  id: z.number().int(),
  layer: z.string(),
  name: z.string(),
  type: z.enum(SCHEDULED_WORK),
  cron: z.string(),
  timeZone: z.string(),
  hours: z.string().nullable(),
  overrun: z.enum(OVERRUNS),
  enabled: z.boolean(),
  origin: z.enum(['configuration', 'interface']),
  ...taskFields,
  nextRuns: z.array(time),
  lastRun: runResponse.nullable(),
  createdBy: z.string(),
  createdAt: time,
});

export const scheduleListResponse = z.object({ schedules: z.array(scheduleResponse) });
export const runListResponse = z.object({ runs: z.array(runResponse) });

export function declarationOf(
  body: Omit<z.output<typeof scheduleBody>, 'area'> & AreaFields,
): ScheduleDeclaration {
  const { layer, name, cron, timeZone, hours, overrun, enabled, type: work, ...task } = body;
  return { layer, name, cron, timeZone, hours, overrun, enabled, work, draft: taskDraftOf(task) };
}

/** Validates with the timetable itself, whose message begins with the field's name. */
function readable(field: keyof typeof ANY_TIME) {
  return (text: string, context: z.core.$RefinementCtx<string>) => {
    try {
      createTimetable({ ...ANY_TIME, [field]: text });
    } catch (error) {
      if (!isTilewardenError(error, 'request-invalid')) throw error;
      const message = error.message.replace(`${field} `, '').replace(/, not [^,]*$/, '');
      context.addIssue({ code: 'custom', message });
    }
  };
}

export function scheduleDocument(
  { draft, work, nextDue: _, ...shown }: Schedule,
  nextRuns: readonly number[],
  lastRun: ScheduleRun | null,
): object {
  const { gridSetId, coords, parameters: values, area, ...rest } = draft;
  return {
    ...shown,
    type: work,
    ...Object.fromEntries(Object.keys(taskFields).map((field) => [field, null])),
    ...rest,
    ...(gridSetId !== undefined && { gridSet: gridSetId }),
    ...(values && { parameters: Object.fromEntries(values) }),
    ...(coords && { bounds: coords }),
    ...(area && { area: { type: 'MultiPolygon', coordinates: area.polygons }, areaCrs: area.crs }),
    nextRuns: nextRuns.map((at) => isoTime(at)),
    lastRun: lastRun && runDocument(lastRun),
    createdAt: isoTime(shown.createdAt),
  };
}

export function runDocument({ dueAt, at, state, taskId, detail }: ScheduleRun) {
  return { dueAt: isoTime(dueAt), at: isoTime(at), state, taskId, detail };
}
