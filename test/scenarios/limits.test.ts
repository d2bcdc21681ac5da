import { expect, it } from 'vitest';
import { inLength, isLong } from '../fixtures/length.ts';
import { runHangingMisses } from './hanging-run.ts';
import { runOverBudget, runUnderLimit } from './limit-run.ts';
import { runReturns } from './return-run.ts';

const RATE = 40;

it('three workers and people together keep a limit, and people do not wait for the task', async () => {
  const report = await runUnderLimit({
    seconds: inLength(2, 120),
    ratePerSecond: RATE,
    workers: 3,
    people: 10,
  });
  // By what was sent over the whole time: how closely arrivals follow each other depends on the machine.
  expect(report.requests).toBeLessThanOrEqual(RATE * (report.seconds + 1));
  expect(report.peopleRefused).toBe(0);
});

it('three workers and people together send no more in a day than its budget', async () => {
  const report = await runOverBudget({ dailyBudget: 130, workers: 3 });
  expect(report.requests).toBeLessThanOrEqual(130);
  // One that is given up before it is sent has been counted all the same.
  expect(report.requests).toBeGreaterThan(110);
  expect(report.taskWaitsFor).toBe('daily-budget');
  expect(report.refusals).toEqual([503]);
});

if (isLong) {
  it('thousands of misses of an upstream that hangs do not keep hits from being answered', async () => {
    const report = await runHangingMisses(2000, 10);
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    expect(report.hitsServed).toBe(report.hits);
    expect(report.withoutRetryAfter).toBe(0);
  });

  it('an upstream that was away is asked again when it is back', async () => {
    const reports = await runReturns(10);
    process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`);
    for (const { away, firstGoodTileMs } of reports) expect(firstGoodTileMs, away).toBeLessThan(Infinity);
  });
}
