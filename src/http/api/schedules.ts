/** `/api/v1/schedules`: schedules of tasks, and their runs. */
import { isDeepStrictEqual } from 'node:util';
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
import { requireLayerScope } from '../auth/layer-visibility.ts';
import { createdResponse, idIn } from '../context.ts';
import { HttpProblem } from '../problems.ts';
import { jsonResponse } from '../response.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { withTaskShape } from './areas.ts';
import { refuseUnknownNames, taskBody, taskDraftOf } from './task-document.ts';
import { type AreaFields, areaName, areaShown, name, queryFlag, time } from './values.ts';

const SHOWN_NEXT_RUNS = 5;
const SHOWN_RUNS = 200;
const PREVIEWED_RUNS = 3;

export const scheduleListQuery = z.strictObject({ layer: name.exactOptional() });

export const scheduleQuery = z.strictObject({
  dryRun: queryFlag.default(false).describe('Only lists the next three runs'),
});

export const previewResponse = z.object({ nextRuns: z.array(time) });

type OneSchedule = Call<{ params: 'id' }>;
type Declaring = Call<{ body: typeof scheduleBody }>;

export async function listSchedules({ query }: Call<{ query: typeof scheduleListQuery }>, deps: ApiDeps) {
  const rows = await deps.schedules.list(query.layer ?? null);
  return { schedules: await Promise.all(rows.map((schedule) => withRuns(schedule, deps))) };
}

export async function createSchedule(call: Declaring & Call<{ query: typeof scheduleQuery }>, deps: ApiDeps) {
  const declaration = await declarationIn(call, deps);
  if (call.query.dryRun) return previewed(declaration, deps);
  const created = await deps.schedules.create(declaration, call.caller.name);
  if (!created) throw nameTaken(declaration);
  call.note({ target: `schedule:${created.id}`, after: declaration });
  return createdResponse(call.context, `/api/v1/schedules/${created.id}`, await withRuns(created, deps));
}

async function previewed(declaration: ScheduleDeclaration, { schedules }: ApiDeps) {
  const runs = await schedules.preview(declaration, PREVIEWED_RUNS);
  return jsonResponse({ nextRuns: runs.map((at) => isoTime(at)) });
}

export async function showSchedule(call: OneSchedule, deps: ApiDeps) {
  return withRuns(await requestedSchedule(call, deps), deps);
}

export async function replaceSchedule(call: OneSchedule & Declaring, deps: ApiDeps) {
  const before = await ownSchedule(call, deps);
  const { draft, ...times } = await declarationIn(call, deps);
  const { area, areaName } = before.draft;
  const keepsArea = areaName !== undefined && isDeepStrictEqual(draft.area, area);
  const declaration = { ...times, draft: keepsArea ? { ...draft, areaName } : draft };
  const after = await deps.schedules.replace(before.id, declaration);
  if (!after) throw nameTaken(declaration);
  call.note({ target: `schedule:${before.id}`, before, after: declaration });
  return withRuns(after, deps);
}

export async function removeSchedule(call: OneSchedule, deps: ApiDeps) {
  const schedule = await ownSchedule(call, deps);
  await deps.schedules.remove(schedule.id);
  call.note({ target: `schedule:${schedule.id}`, before: schedule });
}

export async function listRuns(call: OneSchedule, deps: ApiDeps) {
  const { id } = await requestedSchedule(call, deps);
  return { runs: (await deps.schedules.runs(id, SHOWN_RUNS)).map(runDocument) };
}

export async function runSchedule(call: OneSchedule, deps: ApiDeps) {
  const schedule = await requestedSchedule(call, deps);
  requireLayerScope(call.context, schedule.layer);
  const run = await deps.schedules.runNow(schedule);
  if (!run) throw new HttpProblem('conflict', `The latest run of schedule ${schedule.name} is not over yet.`);
  call.note({ target: `schedule:${schedule.id}`, after: run });
  return runDocument(run);
}

async function declarationIn({ body, context }: Declaring, deps: ApiDeps) {
  requireLayerScope(context, body.layer);
  const declaration = declarationOf(await withTaskShape(body.layer, body, deps));
  const { layer, draft } = declaration;
  refuseUnknownNames(deps.catalog, { layer, ...draft });
  return declaration;
}

export async function withRuns(schedule: Schedule, { schedules }: ApiDeps): Promise<object> {
  const [lastRun = null] = await schedules.runs(schedule.id, 1);
  return scheduleDocument(schedule, schedules.nextRuns(schedule, SHOWN_NEXT_RUNS), lastRun);
}

async function requestedSchedule(call: OneSchedule, { schedules }: ApiDeps): Promise<Schedule> {
  const schedule = await schedules.get(idIn(call));
  if (schedule) return schedule;
  throw new HttpProblem('schedule-unknown', 'There is no such schedule.');
}

/** Throws unless the caller may change the schedule, which must not be from the configuration file. */
async function ownSchedule(call: OneSchedule, deps: ApiDeps): Promise<Schedule> {
  const schedule = await requestedSchedule(call, deps);
  requireLayerScope(call.context, schedule.layer);
  if (schedule.origin === 'interface') return schedule;
  const why = `Schedule ${schedule.name} is declared in the configuration file; change it there.`;
  throw new HttpProblem('conflict', why);
}

function nameTaken({ layer, name }: { readonly layer: string; readonly name: string }): HttpProblem {
  return new HttpProblem('conflict', `Layer ${layer} has a schedule named ${name} already.`);
}

/** A valid timetable, in which `timetableField` replaces one field to check it. */
const ANY_TIMETABLE = { cron: '@daily', timeZone: 'UTC', hours: null };

const {
  layer,
  type: _,
  idempotencyKey: _key,
  dryRun: _dryRun,
  uses: _uses,
  every: _every,
  ...taskFields
} = taskBody.shape;

export const scheduleBody = z.strictObject({
  layer,
  ...taskFields,
  name: z
    .string()
    .max(200)
    .regex(/^(?=\S)\P{Cc}*(?<=\S)$/u, { error: 'must be printable, without space at either end' })
    .describe('Unique within the layer'),
  type: z.enum(SCHEDULED_WORK).default('seed').describe('Type of the work'),
  cron: z
    .string()
    .superRefine(timetableField('cron'))
    .describe('When to run: minute, hour, day of month, month, day of week'),
  timeZone: z
    .string()
    .superRefine(timetableField('timeZone'))
    .default('UTC')
    .describe('For cron and hours; an IANA name such as Europe/Berlin'),
  hours: z
    .string()
    .superRefine(timetableField('hours'))
    .nullable()
    .default(null)
    .describe('Tasks run only within these hours, e.g. 22:00-06:00; null: at any hour'),
  overrun: z
    .enum(OVERRUNS)
    .default('pause')
    .describe('For a task that is unfinished at the end of its hours'),
  enabled: z.boolean().default(true),
});

export const runResponse = z.object({
  dueAt: time,
  at: time,
  state: z.enum(RUN_STATES),
  taskId: z.number().int().nullable(),
  detail: z.string().nullable(),
});

type Nullable<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends z.ZodExactOptional<infer Field> ? z.ZodNullable<Field> : never;
};

/** Null: the default as for a task. */
const shownTaskFields = Object.fromEntries(
  Object.entries(taskFields).map(([name, field]) => [name, field.unwrap().nullable()]),
) as Nullable<typeof taskFields>;

export const scheduleResponse = scheduleBody.extend({
  ...shownTaskFields,
  area: areaShown.nullable(),
  areaName,
  id: z.number().int(),
  origin: z.enum(['configuration', 'interface']),
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

/** Checks one field with the parser of timetables, without the name of the field, which its messages begin with. */
function timetableField(field: keyof typeof ANY_TIMETABLE) {
  return (text: string, context: z.core.$RefinementCtx<string>) => {
    try {
      createTimetable({ ...ANY_TIMETABLE, [field]: text });
    } catch (error) {
      if (!isTilewardenError(error, 'request-invalid')) throw error;
      const message = error.message.replace(`${field} `, '').replace(/, not [^,]*$/, '');
      context.addIssue({ code: 'custom', message });
    }
  };
}

function scheduleDocument(
  { draft, work, nextDue: _, ...shown }: Schedule,
  nextRuns: readonly number[],
  lastRun: ScheduleRun | null,
): object {
  const { gridSetId, coords, parameters: values, area, ...rest } = draft;
  return {
    ...shown,
    type: work,
    ...Object.fromEntries(Object.keys(taskFields).map((field) => [field, null])),
    areaName: null,
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

function runDocument({ dueAt, at, state, taskId, detail }: ScheduleRun) {
  return { dueAt: isoTime(dueAt), at: isoTime(at), state, taskId, detail };
}
