import { describe, expect, it } from 'vitest';
import { createChannelPair } from '../../../test/fixtures/channel-pair.ts';
import { createVirtualClock } from '../../../test/fixtures/virtual-clock.ts';
import { hostClosedIn } from '../../domain/upstream-status.ts';
import { createMemoryLedger } from '../../lib/budget.ts';
import { silentLogger } from '../../lib/logger.ts';
import { openLimiterChannel, serveLimiter } from './limiter-channel.ts';
import { openUpstreamLimiter } from './open-upstream-limiter.ts';
import type { RequestEnd } from './upstream-limiter.ts';
import { upstreamOptions } from './upstream-options.ts';

const HOST = 'maps.example.org:80';
const ANSWERED: RequestEnd = { kind: 'answered', reason: null, ms: 20, retryAfterMs: null };
const never = new AbortController().signal;

function open(limits: object) {
  const clock = createVirtualClock(Date.parse('2026-11-15T12:00:00Z'));
  const limiter = openUpstreamLimiter({
    upstreams: { [HOST]: upstreamOptions.parse({ adaptive: false, ...limits }) },
    budgets: createMemoryLedger(clock),
    clock,
    random: () => 0.5,
    log: silentLogger,
  });
  const hire = () => {
    const { server, child, cut } = createChannelPair();
    serveLimiter(limiter, server);
    return { die: cut, line: openLimiterChannel(child) };
  };
  const flush = () => clock.run(0).then(() => clock.run(0));
  const status = () => limiter.report()[0];
  return { limiter, clock, hire, flush, status };
}

describe('the line between a worker and the limiter', () => {
  it('workers share the places of a host', async () => {
    const { hire, flush, status } = open({ concurrency: 2 });
    const [one, other] = [hire().line, hire().line];
    const first = await one.acquire(HOST, 'task', never);
    await other.acquire(HOST, 'task', never);
    const third = other.acquire(HOST, 'task', never);
    await flush();
    expect(status()).toMatchObject({ inFlight: 2, waiting: { task: 1 } });
    first.end(ANSWERED);
    (await third).end(ANSWERED);
    await flush();
    expect(status()).toMatchObject({ inFlight: 1, requests: 3, latency: { p50: 20 } });
  });

  it('the places and waits of a worker are given back when it dies', async () => {
    const { limiter, hire, flush, status } = open({ concurrency: 2 });
    const { die, line } = hire();
    await Promise.all([line.acquire(HOST, 'task', never), line.acquire(HOST, 'task', never)]);
    line.acquire(HOST, 'task', never).catch(() => undefined);
    await flush();
    die();
    await flush();
    expect(status()).toMatchObject({ inFlight: 0, waiting: { task: 0 } });
    (await limiter.acquire(HOST, 'interactive', never)).end(ANSWERED);
  });

  it('a request of a worker may leave, whether it waits or was just admitted', async () => {
    const { hire, flush, status } = open({ concurrency: 1 });
    const { line } = hire();
    const leaving = new AbortController();
    const first = line.acquire(HOST, 'task', leaving.signal);
    const second = line.acquire(HOST, 'task', leaving.signal);
    leaving.abort(new Error('the task was stopped'));
    await expect(first).rejects.toThrow('the task was stopped');
    await expect(second).rejects.toThrow('the task was stopped');
    await flush();
    expect(status()).toMatchObject({ inFlight: 0, waiting: { task: 0 } });
  });

  it('a worker receives until when a host is left alone', async () => {
    const { line } = open({ quietHours: '06:00-22:00' }).hire();
    const refused: unknown = await line.acquire(HOST, 'task', never).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'source-busy', reason: 'quiet-hours', retryAfterSeconds: 36_000 });
    expect(hostClosedIn(refused)).toMatchObject({
      host: HOST,
      closing: { until: Date.parse('2026-11-15T22:00:00Z') },
    });
  });
});
