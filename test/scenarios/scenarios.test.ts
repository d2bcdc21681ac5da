import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load as parse } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { mostWithin } from './limit-run.ts';
import { runScenario, type Seen, type SeenReply } from './run-scenario.ts';
import { type Scenario, scenarioSchema } from './scenario.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

const scenarios = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.yaml'))
  .sort()
  .map((name) => scenarioSchema.parse(parse(readFileSync(join(FOLDER, name), 'utf8'))));

type Expectation = Scenario['expect'][number];

describe('an upstream', () => {
  it.each(scenarios.map((scenario) => [scenario.title, scenario] as const))('%s', async (_, scenario) => {
    const seen = await runScenario(scenario);
    for (const expected of scenario.expect) check(expected, seen, scenario);
    for (const { at, ...expected } of scenario.samples) {
      const sample = seen.samples.find((each) => each.at === at);
      expect(sample, `at ${at} s`).toMatchObject(expected);
    }
  });
});

function check(expected: Expectation, seen: Seen, scenario: Scenario): void {
  const { from, to = Number.POSITIVE_INFINITY } = expected;
  const within = (moment: number) => moment >= from && moment < to;
  const replies = seen.replies.filter(({ of, askedAt }) => of === expected.of && within(askedAt));
  const arrivals = seen.arrivals.filter(within);
  const where = `from ${from} to ${expected.to ?? scenario.seconds} s: `;
  checkStatuses(expected, replies, where);
  checkTimes(expected, seen, replies, where);
  if (expected.upstreamRequests) {
    const { least, most } = expected.upstreamRequests;
    expect(arrivals.length, `${where}requests at the upstream`).toBeGreaterThanOrEqual(least);
    expect(arrivals.length, `${where}requests at the upstream`).toBeLessThanOrEqual(most);
  }
  if (expected.upstreamRate !== undefined) {
    expect(mostWithin(arrivals, 1), `${where}in a second`).toBeLessThanOrEqual(expected.upstreamRate);
  }
  if (expected.upstreamPeak !== undefined) expect(seen.peak).toBeLessThanOrEqual(expected.upstreamPeak);
}

function checkStatuses(expected: Expectation, replies: readonly SeenReply[], where: string): void {
  const statuses = new Set(replies.map(({ status }) => status));
  if (expected.statuses) {
    expect(replies.length, `${where}replies`).toBeGreaterThan(0);
    for (const status of statuses) expect(expected.statuses, `${where}${status}`).toContain(status);
  }
  for (const status of expected.some ?? []) expect([...statuses], where).toContain(status);
  if (expected.cache) expect(new Set(replies.map(({ cache }) => cache))).toEqual(new Set([expected.cache]));
  if (expected.retryAfter === undefined) return;
  for (const { status, retryAfter } of replies) {
    if (status !== 200) expect(retryAfter, `${where}${status}`).toBeGreaterThanOrEqual(expected.retryAfter);
  }
}

function checkTimes(expected: Expectation, seen: Seen, replies: readonly SeenReply[], where: string): void {
  if (expected.within !== undefined) {
    const slowest = Math.max(...replies.map(({ askedAt, answeredAt }) => answeredAt - askedAt));
    expect(slowest * 1000, `${where}slowest`).toBeLessThan(expected.within);
  }
  if (expected.goodAgainWithin === undefined) return;
  const good = seen.replies
    .filter(
      ({ of, answeredAt, status }) => of === expected.of && answeredAt >= expected.from && status === 200,
    )
    .map(({ answeredAt }) => answeredAt);
  expect(Math.min(...good) - expected.from, `${where}good again`).toBeLessThanOrEqual(
    expected.goodAgainWithin,
  );
}
