import { expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/fixtures/clocks.ts';
import { isTilewardenError } from '../../domain/errors.ts';
import { type HostPause, hostClosedIn } from '../../domain/upstream-status.ts';
import { createMemoryLedger } from '../../lib/budget.ts';
import { silentLogger } from '../../lib/logger.ts';
import { openUpstreamLimiter } from './open-upstream-limiter.ts';
import type { RequestEnd, UpstreamPriority } from './upstream-limiter.ts';
import { upstreamOptions } from './upstream-options.ts';

const HOST = 'maps.example.org:443';
const GOOD: RequestEnd = { kind: 'answered', reason: null, ms: 20, retryAfterMs: null };
const DOWN: RequestEnd = { kind: 'failed', reason: 'connection', ms: 5, retryAfterMs: null };

/** Two nodes with one list of pauses. */
function openNodes() {
  const clock = createVirtualClock(Date.parse('2026-11-15T12:00:00Z'));
  const paused = new Map<string, HostPause>();
  const open = () =>
    openUpstreamLimiter({
      upstreams: { 'maps.example.org': upstreamOptions.parse({ adaptive: false, concurrency: 1 }) },
      budgets: createMemoryLedger(clock),
      pauses: { read: async () => new Map(paused), listen: () => () => {} },
      clock,
      random: () => 0.5,
      log: silentLogger,
    });
  const [one, other] = [open(), open()];
  const pause = () => paused.set(HOST, { by: 'anna', at: clock.now() });
  const acquire = (limiter: typeof one, priority: UpstreamPriority = 'interactive') =>
    limiter.acquire(HOST, priority, new AbortController().signal);
  const refusal = (limiter: typeof one, priority?: UpstreamPriority) =>
    acquire(limiter, priority).then(
      () => null,
      (error: unknown) => error,
    );
  return { clock, one, other, paused, pause, acquire, refusal };
}

it('a paused host gets no request of clients or tasks, whatever waits for it, until it is resumed', async () => {
  const { one, paused, pause, acquire, refusal } = openNodes();
  const under = await acquire(one);
  const waiting = refusal(one);
  pause();
  await one.readPauses();
  for (const error of [await waiting, await refusal(one), await refusal(one, 'task')]) {
    expect(isTilewardenError(error, 'source-busy') && error.retryAfterSeconds).toBe(60);
    expect(hostClosedIn(error)?.closing.reason).toBe('paused');
  }
  under.end(GOOD);
  expect(one.status(HOST)).toMatchObject({
    state: 'paused',
    closed: { reason: 'paused' },
    pause: { by: 'anna' },
  });
  paused.clear();
  await one.readPauses();
  (await acquire(one)).end(GOOD);
  expect(one.status(HOST)).toMatchObject({ state: 'healthy', closed: null, pause: null });
});

it('a pause is applied by other nodes within a second', async () => {
  const { clock, other, pause, refusal } = openNodes();
  await clock.run(0);
  pause();
  await clock.run(1000);
  expect(hostClosedIn(await refusal(other, 'task'))?.closing.reason).toBe('paused');
});

it('a failing host is asked once by a try now: an answer ends its pause, a failure keeps it', async () => {
  const { clock, one, acquire, refusal } = openNodes();
  for (let times = 0; times < 5; times++) (await acquire(one, 'task')).end(DOWN);
  expect(hostClosedIn(await refusal(one, 'task'))?.closing.reason).toBe('failing');
  one.tryNow(HOST);
  const probe = await acquire(one, 'task');
  expect(hostClosedIn(await refusal(one, 'task'))?.closing.reason).toBe('failing');
  probe.end(DOWN);
  expect(hostClosedIn(await refusal(one, 'task'))?.closing.reason).toBe('failing');
  one.tryNow(HOST);
  (await acquire(one, 'task')).end(GOOD);
  expect(one.status(HOST)).toMatchObject({ state: 'healthy', breaker: 'closed' });
  await clock.run(0);
});

it('a host that asked to be called later is asked by a try now', async () => {
  const { one, acquire, refusal } = openNodes();
  (await acquire(one)).end({ kind: 'overloaded', reason: 'status-429', ms: 5, retryAfterMs: 600_000 });
  expect(hostClosedIn(await refusal(one))?.closing.reason).toBe('retry-after');
  one.tryNow(HOST);
  (await acquire(one)).end(GOOD);
  expect(one.status(HOST).closed).toBeNull();
});
