import { z } from 'zod';
import { isoTime } from '../../lib/clock.ts';
import type { Schedule, ScheduleDeclaration } from '../../tasks/schedules/schedule.ts';
import { type Answer, jsonAnswer, NOTHING } from '../answer.ts';
import { refuseForeignLayer } from '../door/gate.ts';
import { callerName, createdAnswer, type Exchange, idIn } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { checkBody, NO_QUERY, readJson, readQuery } from '../wire/read-body.ts';
import { declarationOf, runDocument, scheduleBody, scheduleDocument } from '../wire/schedule-document.ts';
import { refuseUnknownNames } from '../wire/task-document.ts';
import { time, yesOrNo } from '../wire/values.ts';

const SHOWN_NEXT_RUNS = 5;
const SHOWN_RUNS = 200;
const PREVIEWED_RUNS = 3;

export const scheduleQuery = z.strictObject({
  dryRun: yesOrNo.default(false).describe('Only answers the next three runs'),
});

export const previewAnswer = z.object({ nextRuns: z.array(time) });

/** `/api/v1/schedules` and what lies below it. */
export function scheduleRoutes({ catalog, schedules }: RouteDeps): readonly Route[] {
  const path = '/api/v1/schedules';
  const one = `${path}/{id}`;
  return [
    { method: 'GET', path, role: 'viewer', handler: list },
    { method: 'POST', path, role: 'operator', handler: create, asksOnly: isDryRun },
    { method: 'GET', path: one, role: 'viewer', handler: show },
    { method: 'PUT', path: one, role: 'operator', handler: replace },
    { method: 'DELETE', path: one, role: 'operator', handler: remove },
    { method: 'GET', path: `${one}/runs`, role: 'viewer', handler: runs },
    { method: 'POST', path: `${one}/run`, role: 'operator', handler: runNow },
  ];

  async function list({ query }: Exchange): Promise<Answer> {
    const found = await schedules.list(new URLSearchParams(query).get('layer'));
    return jsonAnswer({ schedules: await Promise.all(found.map(documentOf)) });
  }

  async function create(exchange: Exchange): Promise<Answer> {
    const declaration = declarationIn(exchange);
    if (isDryRun(exchange)) return previewed(declaration);
    const created = await schedules.create(declaration, callerName(exchange));
    if (!created) throw nameTaken(declaration);
    exchange.change = { target: `schedule:${created.id}`, after: declaration };
    return createdAnswer(exchange, `${path}/${created.id}`, await documentOf(created));
  }

  async function previewed(declaration: ScheduleDeclaration): Promise<Answer> {
    const runs = await schedules.preview(declaration, PREVIEWED_RUNS);
    return jsonAnswer({ nextRuns: runs.map((at) => isoTime(at)) });
  }

  async function show(exchange: Exchange): Promise<Answer> {
    return jsonAnswer(await documentOf(await scheduleOf(exchange)));
  }

  async function replace(exchange: Exchange): Promise<Answer> {
    readQuery(exchange, NO_QUERY);
    const before = await ownSchedule(exchange);
    const declaration = declarationIn(exchange);
    const after = await schedules.replace(before.id, declaration);
    if (!after) throw nameTaken(declaration);
    exchange.change = { target: `schedule:${before.id}`, before, after: declaration };
    return jsonAnswer(await documentOf(after));
  }

  async function remove(exchange: Exchange): Promise<Answer> {
    const schedule = await ownSchedule(exchange);
    await schedules.remove(schedule.id);
    exchange.change = { target: `schedule:${schedule.id}`, before: schedule };
    return NOTHING;
  }

  async function runs(exchange: Exchange): Promise<Answer> {
    const { id } = await scheduleOf(exchange);
    return jsonAnswer({ runs: (await schedules.runs(id, SHOWN_RUNS)).map(runDocument) });
  }

  async function runNow(exchange: Exchange): Promise<Answer> {
    const schedule = await scheduleOf(exchange);
    refuseForeignLayer(exchange.caller, schedule.layer);
    const run = await schedules.runNow(schedule);
    if (!run)
      throw new HttpProblem('conflict', `The latest run of schedule ${schedule.name} is not over yet.`);
    exchange.change = { target: `schedule:${schedule.id}`, after: run };
    return jsonAnswer(runDocument(run));
  }

  function declarationIn(exchange: Exchange) {
    const declaration = declarationOf(checkBody(readJson(exchange), scheduleBody));
    const { layer, draft } = declaration;
    refuseForeignLayer(exchange.caller, layer);
    refuseUnknownNames(catalog, { layer, ...draft });
    return declaration;
  }

  async function documentOf(schedule: Schedule): Promise<object> {
    const [lastRun = null] = await schedules.runs(schedule.id, 1);
    return scheduleDocument(schedule, schedules.nextRuns(schedule, SHOWN_NEXT_RUNS), lastRun);
  }

  async function scheduleOf(exchange: Exchange): Promise<Schedule> {
    const schedule = await schedules.get(idIn(exchange));
    if (schedule) return schedule;
    throw new HttpProblem('schedule-unknown', 'There is no such schedule.');
  }

  /** One that the caller may change. */
  async function ownSchedule(exchange: Exchange): Promise<Schedule> {
    const schedule = await scheduleOf(exchange);
    refuseForeignLayer(exchange.caller, schedule.layer);
    if (schedule.origin === 'interface') return schedule;
    const why = `Schedule ${schedule.name} is declared in the configuration file; change it there.`;
    throw new HttpProblem('conflict', why);
  }
}

function isDryRun(exchange: Exchange): boolean {
  return readQuery(exchange, scheduleQuery).dryRun;
}

function nameTaken({ layer, name }: { readonly layer: string; readonly name: string }): HttpProblem {
  return new HttpProblem('conflict', `Layer ${layer} has a schedule named ${name} already.`);
}
