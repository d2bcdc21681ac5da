import { expect, it } from 'vitest';
import { runOverBudget, runUnderLimit } from './limit-run.ts';

it('three workers and people together keep a limit in every second, and people do not wait for the task', async () => {
  const report = await runUnderLimit({ seconds: 6, ratePerSecond: 40, workers: 3, people: 10 });
  expect(report.mostInASecond).toBeLessThanOrEqual(40);
  expect(report.perSecond).toBeGreaterThan(24);
  expect(report.peopleRefused).toBe(0);
  expect(report.slowestPerson).toBeLessThan(3000);
}, 60_000);

it('three workers and people together send no more in a day than its budget', async () => {
  const report = await runOverBudget({ dailyBudget: 130, workers: 3 });
  expect(report.requests).toBe(130);
  expect(report.taskWaitsFor).toBe('daily-budget');
  expect(report.refusals).toEqual([503]);
}, 60_000);
