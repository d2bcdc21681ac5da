import { describe, expect, it } from 'vitest';
import { createChannelPair } from '../../../test/fixtures/channel-pair.ts';
import { createVirtualClock } from '../../../test/fixtures/virtual-clock.ts';
import { hostClosedIn } from '../../domain/upstream-status.ts';
import { silentLogger } from '../../lib/logger.ts';
import { openDeskLine, serveDesk } from './desk-line.ts';
import { createMemoryBudgetBook, openUpstreamDesk } from './open-upstream-desk.ts';
import type { RequestEnd } from './upstream-desk.ts';
import { upstreamOptions } from './upstream-options.ts';

const HOST = 'maps.example.org:80';
const ANSWERED: RequestEnd = { kind: 'answered', reason: null, ms: 20, retryAfterMs: null };
const never = new AbortController().signal;

function open(limits: object) {
  const clock = createVirtualClock(Date.parse('2026-11-15T12:00:00Z'));
  const desk = openUpstreamDesk({
    upstreams: { [HOST]: upstreamOptions.parse({ adaptive: false, ...limits }) },
    book: createMemoryBudgetBook(),
    clock,
    random: () => 0.5,
    log: silentLogger,
  });
  const hire = () => {
    const { server, child, cut } = createChannelPair();
    serveDesk(desk, server);
    return { die: cut, line: openDeskLine(child) };
  };
  const settle = () => clock.run(0).then(() => clock.run(0));
  const status = () => desk.report()[0];
  return { desk, clock, hire, settle, status };
}

describe('the line between a worker and the desk', () => {
  it('workers share the places of a host', async () => {
    const { hire, settle, status } = open({ concurrency: 2 });
    const [one, other] = [hire().line, hire().line];
    const first = await one.enter(HOST, 'task', never);
    await other.enter(HOST, 'task', never);
    const third = other.enter(HOST, 'task', never);
    await settle();
    expect(status()).toMatchObject({ inFlight: 2, waiting: { task: 1 } });
    first.end(ANSWERED);
    (await third).end(ANSWERED);
    await settle();
    expect(status()).toMatchObject({ inFlight: 1, requests: 3, latency: { p50: 20 } });
  });

  it('the places and waits of a worker are given back when it dies', async () => {
    const { desk, hire, settle, status } = open({ concurrency: 2 });
    const { die, line } = hire();
    await Promise.all([line.enter(HOST, 'task', never), line.enter(HOST, 'task', never)]);
    line.enter(HOST, 'task', never).catch(() => undefined);
    await settle();
    die();
    await settle();
    expect(status()).toMatchObject({ inFlight: 0, waiting: { task: 0 } });
    (await desk.enter(HOST, 'interactive', never)).end(ANSWERED);
  });

  it('a request of a worker may leave, whether it waits or was just admitted', async () => {
    const { hire, settle, status } = open({ concurrency: 1 });
    const { line } = hire();
    const leaving = new AbortController();
    const first = line.enter(HOST, 'task', leaving.signal);
    const second = line.enter(HOST, 'task', leaving.signal);
    leaving.abort(new Error('the task was stopped'));
    await expect(first).rejects.toThrow('the task was stopped');
    await expect(second).rejects.toThrow('the task was stopped');
    await settle();
    expect(status()).toMatchObject({ inFlight: 0, waiting: { task: 0 } });
  });

  it('a worker receives until when a host is left alone', async () => {
    const { line } = open({ quietHours: '06:00-22:00' }).hire();
    const refused: unknown = await line.enter(HOST, 'task', never).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'source-busy', reason: 'quiet-hours', retryAfterSeconds: 36_000 });
    expect(hostClosedIn(refused)).toMatchObject({
      host: HOST,
      closing: { until: Date.parse('2026-11-15T22:00:00Z') },
    });
  });

  it('a worker gives its place up when the host has been silent for long and a probe is sent', async () => {
    const { desk, clock, hire, settle, status } = open({ concurrency: 1 });
    const { line } = hire();
    const entering = line.enter(HOST, 'task', never);
    await settle();
    const held = await entering;
    const scout = desk.enter(HOST, 'interactive', never);
    await clock.run(4000);
    expect(held.revoked.aborted).toBe(false);
    await clock.run(2000);
    await settle();
    expect(held.revoked.aborted).toBe(true);
    held.end(ANSWERED);
    await settle();
    expect(status()).toMatchObject({ inFlight: 1, errors: { silent: 1 } });
    (await scout).end(ANSWERED);
    expect(status()).toMatchObject({ inFlight: 0, breaker: 'closed' });
  });
});
