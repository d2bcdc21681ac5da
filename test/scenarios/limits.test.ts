import { afterAll, beforeAll, expect, it } from 'vitest';
import { inLength, isLong } from '../fixtures/length.ts';
import { runHangingMisses } from './hanging-run.ts';
import { runOverBudget, runUnderLimit } from './limit-run.ts';
import { runReturns } from './return-run.ts';
import { openScenarioServer, type ScenarioServer } from './scenario-server.ts';

const RATE = 40;
const BUDGET = 130;
const WORKERS = 3;

let server: ScenarioServer;
beforeAll(async () => {
  server = await openScenarioServer({
    limits: { ratePerSecond: RATE, concurrency: 32 },
    otherLimits: { dailyBudget: BUDGET, concurrency: 16 },
    workers: WORKERS,
  });
});
afterAll(() => server.close());

it('three workers and clients together stay within a limit, and clients are not refused', async () => {
  const report = await runUnderLimit(server, {
    seconds: inLength(2, 120),
    ratePerSecond: RATE,
    tasks: WORKERS,
    people: 10,
  });
  // By what was sent over the whole time: how closely arrivals follow each other depends on the machine.
  expect(report.requests).toBeLessThanOrEqual(RATE * (report.seconds + 1));
  expect(report.peopleRefused).toBe(0);
});

it('three workers and clients together stay within a daily budget', async () => {
  const report = await runOverBudget(server);
  expect(report.requests).toBeLessThanOrEqual(BUDGET);
  // A request that is aborted before it is sent is counted too.
  expect(report.requests).toBeGreaterThan(BUDGET - 20);
  expect(report.taskWaitsFor).toBe('daily-budget');
  expect(report.refusals).toEqual([503]);
});

if (isLong) {
  it('thousands of misses of a hanging upstream do not delay hits', async () => {
    const report = await runHangingMisses(2000, 10);
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    expect(report.hitsServed).toBe(report.hits);
    expect(report.withoutRetryAfter).toBe(0);
  });

  it('an upstream that was unreachable gets requests again when it is back', async () => {
    const reports = await runReturns(10);
    process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`);
    for (const { away, firstGoodTileMs } of reports) expect(firstGoodTileMs, away).toBeLessThan(Infinity);
  });
}
