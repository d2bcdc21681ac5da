import { z } from 'zod';
import { isoTime } from '../../lib/clock.ts';
import type { Schedule, ScheduleDeclaration } from '../../tasks/schedules/schedule.ts';
import { requireLayerScope } from '../auth/layer-visibility.ts';
import { createdResponse, idIn } from '../context.ts';
import { HttpProblem } from '../problems.ts';
import { jsonResponse } from '../response.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { withTaskShape } from './areas.ts';
import { declarationOf, runDocument, type scheduleBody, scheduleDocument } from './schedule-document.ts';
import { refuseUnknownNames } from './task-document.ts';
import { time, yesOrNo } from './values.ts';

const SHOWN_NEXT_RUNS = 5;
const SHOWN_RUNS = 200;
const PREVIEWED_RUNS = 3;

export const scheduleQuery = z.strictObject({
  dryRun: yesOrNo.default(false).describe('Only answers the next three runs'),
});

export const previewResponse = z.object({ nextRuns: z.array(time) });

type OneSchedule = Call<{ params: 'id' }>;
type Declaring = Call<{ body: typeof scheduleBody }>;

export async function listSchedules({ context }: Call, deps: ApiDeps) {
  const rows = await deps.schedules.list(new URLSearchParams(context.query).get('layer'));
  return { schedules: await Promise.all(rows.map((schedule) => documentOf(schedule, deps))) };
}

export async function createSchedule(call: Declaring & Call<{ query: typeof scheduleQuery }>, deps: ApiDeps) {
  const declaration = await declarationIn(call, deps);
  if (call.query.dryRun) return previewed(declaration, deps);
  const created = await deps.schedules.create(declaration, call.caller.name);
  if (!created) throw nameTaken(declaration);
  call.note({ target: `schedule:${created.id}`, after: declaration });
  return createdResponse(call.context, `/api/v1/schedules/${created.id}`, await documentOf(created, deps));
}

async function previewed(declaration: ScheduleDeclaration, { schedules }: ApiDeps) {
  const runs = await schedules.preview(declaration, PREVIEWED_RUNS);
  return jsonResponse({ nextRuns: runs.map((at) => isoTime(at)) });
}

export async function showSchedule(call: OneSchedule, deps: ApiDeps) {
  return documentOf(await scheduleOf(call, deps), deps);
}

export async function replaceSchedule(call: OneSchedule & Declaring, deps: ApiDeps) {
  const before = await ownSchedule(call, deps);
  const declaration = await declarationIn(call, deps);
  const after = await deps.schedules.replace(before.id, declaration);
  if (!after) throw nameTaken(declaration);
  call.note({ target: `schedule:${before.id}`, before, after: declaration });
  return documentOf(after, deps);
}

export async function removeSchedule(call: OneSchedule, deps: ApiDeps) {
  const schedule = await ownSchedule(call, deps);
  await deps.schedules.remove(schedule.id);
  call.note({ target: `schedule:${schedule.id}`, before: schedule });
}

export async function listRuns(call: OneSchedule, deps: ApiDeps) {
  const { id } = await scheduleOf(call, deps);
  return { runs: (await deps.schedules.runs(id, SHOWN_RUNS)).map(runDocument) };
}

export async function runSchedule(call: OneSchedule, deps: ApiDeps) {
  const schedule = await scheduleOf(call, deps);
  requireLayerScope(call.context, schedule.layer);
  const run = await deps.schedules.runNow(schedule);
  if (!run) throw new HttpProblem('conflict', `The latest run of schedule ${schedule.name} is not over yet.`);
  call.note({ target: `schedule:${schedule.id}`, after: run });
  return runDocument(run);
}

async function declarationIn({ body, context }: Declaring, deps: ApiDeps) {
  const declaration = declarationOf(await withTaskShape(body.layer, body, deps));
  const { layer, draft } = declaration;
  requireLayerScope(context, layer);
  refuseUnknownNames(deps.catalog, { layer, ...draft });
  return declaration;
}

export async function documentOf(schedule: Schedule, { schedules }: ApiDeps): Promise<object> {
  const [lastRun = null] = await schedules.runs(schedule.id, 1);
  return scheduleDocument(schedule, schedules.nextRuns(schedule, SHOWN_NEXT_RUNS), lastRun);
}

async function scheduleOf(call: OneSchedule, { schedules }: ApiDeps): Promise<Schedule> {
  const schedule = await schedules.get(idIn(call));
  if (schedule) return schedule;
  throw new HttpProblem('schedule-unknown', 'There is no such schedule.');
}

/** Throws unless the caller may change it. */
async function ownSchedule(call: OneSchedule, deps: ApiDeps): Promise<Schedule> {
  const schedule = await scheduleOf(call, deps);
  requireLayerScope(call.context, schedule.layer);
  if (schedule.origin === 'interface') return schedule;
  const why = `Schedule ${schedule.name} is declared in the configuration file; change it there.`;
  throw new HttpProblem('conflict', why);
}

function nameTaken({ layer, name }: { readonly layer: string; readonly name: string }): HttpProblem {
  return new HttpProblem('conflict', `Layer ${layer} has a schedule named ${name} already.`);
}
