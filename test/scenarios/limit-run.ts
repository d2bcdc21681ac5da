import { setTimeout as delay } from 'node:timers/promises';
import type { ScenarioServer } from './scenario-server.ts';

export interface LimitRunOptions {
  readonly seconds: number;
  readonly ratePerSecond: number;
  /** Tasks that seed. */
  readonly tasks: number;
  /** Requests of clients in a second. */
  readonly people: number;
}

export interface LimitRunReport {
  readonly requests: number;
  /** The length of the run. */
  readonly seconds: number;
  readonly peopleServed: number;
  readonly peopleRefused: number;
}

const ZOOM = 14;
/** Far from the first tiles of the task. */
const ROW = 16_000;
const MAX_REQUESTS = 2000;

/** Seeds and requests of clients, all to one upstream with a limit. */
export async function runUnderLimit(
  server: ScenarioServer,
  options: LimitRunOptions,
): Promise<LimitRunReport> {
  const { seconds, ratePerSecond, tasks, people } = options;
  // Answers take 5 to 60 ms, as tiles do.
  server.wms.answer = (_, number) => ({ delayMs: 5 + ((number * 37) % 56) });
  for (let task = 0; task < tasks; task++) await server.seed(12, 8);
  while (server.wms.requests.length < ratePerSecond) await delay(20);
  let [served, refused] = [0, 0];
  const asking: Promise<void>[] = [];
  const begun = performance.now();
  for (let i = 0; i < seconds * people; i++) {
    await delay(Math.max(0, begun + (i * 1000) / people - performance.now()));
    asking.push(
      server.tile(ZOOM, i, ROW).then(({ status }) => {
        if (status === 200) served++;
        if (status !== 200) refused++;
      }),
    );
  }
  await Promise.all(asking);
  const report = {
    requests: server.wms.requests.filter(({ at }) => at >= begun).length,
    seconds: (performance.now() - begun) / 1000,
    peopleServed: served,
    peopleRefused: refused,
  };
  await server.stopTasks();
  return report;
}

export interface BudgetRunReport {
  readonly requests: number;
  /** The reason why the task waits when nothing is left. */
  readonly taskWaitsFor: string | null;
  /** The statuses of clients then. */
  readonly refusals: readonly number[];
}

/** A seed and requests of clients to the other upstream, until its budget of a day is used up, and beyond. */
export async function runOverBudget(server: ScenarioServer): Promise<BudgetRunReport> {
  const { otherWms: wms } = server;
  wms.answer = (_, number) => ({ delayMs: 5 + ((number * 37) % 56) });
  const id = await server.seed(12, 8, 'other');
  let task = await server.task(id);
  for (let i = 0; i < MAX_REQUESTS && task.waitingFor?.reason !== 'daily-budget'; i++) {
    await server.tile(ZOOM, i, ROW, 'other');
    task = await server.task(id);
  }
  const refusals = new Set<number>();
  for (let i = 0; i < 20; i++) refusals.add((await server.tile(ZOOM, i, ROW + 1, 'other')).status);
  return {
    requests: wms.requests.length,
    taskWaitsFor: task.waitingFor?.reason ?? null,
    refusals: [...refusals],
  };
}

/** The most moments in any half-open window of that length. */
export function mostWithin(moments: readonly number[], length: number): number {
  const sorted = [...moments].sort((a, b) => a - b);
  let first = 0;
  let most = 0;
  for (const [last, moment] of sorted.entries()) {
    while ((sorted[first] ?? moment) <= moment - length) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
