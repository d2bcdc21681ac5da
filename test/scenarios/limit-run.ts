import { setTimeout as delay } from 'node:timers/promises';
import { openScenarioServer } from './scenario-server.ts';

export interface LimitRunOptions {
  readonly seconds: number;
  readonly ratePerSecond: number;
  readonly workers: number;
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

/** A seed with worker processes and requests of clients, all to one upstream with a limit. */
export async function runUnderLimit(options: LimitRunOptions): Promise<LimitRunReport> {
  const { seconds, ratePerSecond, workers, people } = options;
  const server = await openScenarioServer({ limits: { ratePerSecond, concurrency: 32 }, workers });
  try {
    // Answers take 5 to 60 ms, as tiles do.
    server.wms.answer = (_, number) => ({ delayMs: 5 + ((number * 37) % 56) });
    for (let task = 0; task < workers; task++) await server.seed(12, 8);
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
    return {
      requests: server.wms.requests.filter(({ at }) => at >= begun).length,
      seconds: (performance.now() - begun) / 1000,
      peopleServed: served,
      peopleRefused: refused,
    };
  } finally {
    await server.close();
  }
}

export interface BudgetRunReport {
  readonly requests: number;
  /** The reason why the task waits when nothing is left. */
  readonly taskWaitsFor: string | null;
  /** The statuses of clients then. */
  readonly refusals: readonly number[];
}

/** A seed with worker processes and requests of clients until a day's budget is used up, and beyond. */
export async function runOverBudget(options: {
  readonly dailyBudget: number;
  readonly workers: number;
}): Promise<BudgetRunReport> {
  const { dailyBudget, workers } = options;
  const server = await openScenarioServer({ limits: { dailyBudget, concurrency: 16 }, workers });
  try {
    server.wms.answer = (_, number) => ({ delayMs: 5 + ((number * 37) % 56) });
    const id = await server.seed(12, 8);
    let task = await server.task(id);
    for (let i = 0; i < MAX_REQUESTS && task.waitingFor?.reason !== 'daily-budget'; i++) {
      await server.tile(ZOOM, i, ROW);
      task = await server.task(id);
    }
    const refusals = new Set<number>();
    for (let i = 0; i < 20; i++) refusals.add((await server.tile(ZOOM, i, ROW + 1)).status);
    return {
      requests: server.wms.requests.length,
      taskWaitsFor: task.waitingFor?.reason ?? null,
      refusals: [...refusals],
    };
  } finally {
    await server.close();
  }
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
