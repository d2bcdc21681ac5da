import { describe, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../../test/fixtures/clocks.ts';
import { isTilewardenError, type TilewardenError } from '../../domain/errors.ts';
import { hostClosedIn } from '../../domain/upstream-status.ts';
import { createMemoryLedger, type Ledger } from '../../lib/budget.ts';
import { silentLogger } from '../../lib/logger.ts';
import { openUpstreamLimiter } from './open-upstream-limiter.ts';
import type { Permit, RequestEnd, UpstreamPriority } from './upstream-limiter.ts';
import { upstreamOptions } from './upstream-options.ts';

const HOST = 'maps.example.org:443';
const ANSWERED: RequestEnd = { kind: 'answered', reason: null, ms: 20, retryAfterMs: null };
const DOWN: RequestEnd = { kind: 'failed', reason: 'connection', ms: 5, retryAfterMs: null };
const TOO_MUCH: RequestEnd = { kind: 'overloaded', reason: 'status-429', ms: 5, retryAfterMs: 30_000 };

interface Given {
  readonly limits?: object;
  readonly start?: string;
  readonly clock?: VirtualClock;
  readonly budgets?: Ledger;
  /** Places that other nodes leave to this one. */
  readonly share?: number;
}

function open({ limits = {}, start = '2026-11-15T12:00:00Z', clock, budgets, share }: Given = {}) {
  const time = clock ?? createVirtualClock(Date.parse(start));
  const limiter = openUpstreamLimiter({
    upstreams: { 'maps.example.org': upstreamOptions.parse({ adaptive: false, ...limits }) },
    budgets: budgets ?? createMemoryLedger(time),
    ...(share && {
      shares: { renew: async () => ({ places: share, alone: false }), listen: () => () => {} },
    }),
    clock: time,
    random: () => 0.5,
    log: silentLogger,
  });
  const acquire = (priority: UpstreamPriority = 'interactive', signal = new AbortController().signal) =>
    limiter.acquire(HOST, priority, signal);
  async function refusal(priority: UpstreamPriority = 'interactive'): Promise<TilewardenError> {
    const answer: unknown = await acquire(priority).catch((error: unknown) => error);
    if (!isTilewardenError(answer)) throw new Error('it was let in');
    return answer;
  }
  async function fail(times: number): Promise<void> {
    for (let i = 0; i < times; i++) (await acquire()).end(DOWN);
  }
  const status = () => {
    const [only] = limiter.report();
    if (!only) throw new Error('no request was admitted');
    return only;
  };
  return { limiter, clock: time, acquire, refusal, fail, status };
}

describe('the limiter of a host', () => {
  it('a host limiter admits people before tasks that came first, and keeps the order among equals', async () => {
    const { acquire, clock } = open({ limits: { concurrency: 1 } });
    const order: string[] = [];
    const first = await acquire('task');
    const visit = (name: string, priority: UpstreamPriority) =>
      acquire(priority).then((permit: Permit) => {
        order.push(name);
        permit.end(ANSWERED);
      });
    const all = [
      visit('task 1', 'task'),
      visit('person 1', 'interactive'),
      visit('task 2', 'task'),
      visit('person 2', 'interactive'),
    ];
    first.end(ANSWERED);
    await clock.run(0);
    await Promise.all(all);
    expect(order).toEqual(['person 1', 'person 2', 'task 1', 'task 2']);
  });

  it('a host limiter reports a host as failing from the first failure on, probing, and healthy again', async () => {
    const { acquire, status, clock, fail } = open();
    (await acquire()).end(ANSWERED);
    expect(status()).toMatchObject({ state: 'healthy', failuresInARow: 0, lastFailure: null });
    await clock.run(1000);
    const since = clock.now();
    for (let i = 0; i < 3; i++) (await acquire()).end({ ...DOWN, reason: 'status-500' });
    expect(status()).toMatchObject({
      state: 'failing',
      breaker: 'closed',
      failuresInARow: 3,
      failingSince: since,
      lastFailure: { at: since, reason: 'status-500' },
    });
    await fail(2);
    expect(status()).toMatchObject({ state: 'failing', closed: { reason: 'failing', since } });
    await clock.run(1000);
    const probe = await acquire();
    expect(status().state).toBe('probing');
    probe.end(ANSWERED);
    expect(status()).toMatchObject({ state: 'healthy', failuresInARow: 0, failingSince: null });
    (await acquire()).end(TOO_MUCH);
    expect(status().state).toBe('paused');
  });

  it('a place of a host is given back once, however often its request ends', async () => {
    const { acquire, status } = open({ limits: { concurrency: 2 } });
    const permit = await acquire();
    await acquire();
    permit.end(ANSWERED);
    permit.end(ANSWERED);
    expect(status().inFlight).toBe(1);
  });

  it('a host limiter leaves a failing host alone, with a retry time, and is back within a second of its return', async () => {
    const { fail, refusal, acquire, clock, status } = open();
    await fail(5);
    const refused = await refusal();
    expect(refused).toMatchObject({ code: 'source-busy', reason: 'failing', retryAfterSeconds: 1 });
    expect(status()).toMatchObject({ breaker: 'open', closed: { reason: 'failing' } });
    for (let probe = 0; probe < 30; probe++) {
      await clock.run(501);
      await fail(1);
    }
    // The host is back now.
    let waited = 0;
    for (let served = false; !served; waited += 50) {
      await clock.run(50);
      served = await acquire().then(
        (permit) => {
          permit.end(ANSWERED);
          return true;
        },
        () => false,
      );
    }
    expect(waited).toBeLessThanOrEqual(1000);
    expect(status().breaker).toBe('closed');
  });

  it("a host limiter keeps to the host's Retry-After though a request sent before is answered", async () => {
    const { acquire, refusal } = open({ limits: { concurrency: 2 } });
    const first = await acquire();
    const other = await acquire();
    other.end(TOO_MUCH);
    first.end(ANSWERED);
    expect(await refusal()).toMatchObject({ reason: 'retry-after', retryAfterSeconds: 30 });
  });

  it('a host limiter sends one probe to a host whose requests have timed out, and none before it ends', async () => {
    const { acquire, refusal, clock, status } = open({ limits: { concurrency: 3 } });
    const hanging = [await acquire(), await acquire(), await acquire()];
    for (const permit of hanging) permit.end({ ...DOWN, reason: 'timeout', ms: 15_000 });
    expect(status().breaker).toBe('open');
    await clock.run(501);
    const probe = await acquire();
    await clock.run(14_000);
    expect((await refusal()).reason).toBe('failing');
    probe.end(ANSWERED);
    (await acquire()).end(ANSWERED);
    expect(status()).toMatchObject({ breaker: 'closed', inFlight: 0 });
  });

  it('a host limiter refuses waiting requests when the host begins to fail', async () => {
    const { acquire, clock } = open({ limits: { concurrency: 1 } });
    let current = await acquire();
    for (let i = 0; i < 4; i++) {
      current.end(DOWN);
      current = await acquire();
    }
    const waiting = [acquire('interactive'), acquire('task')].map((visit) =>
      visit.catch((error: unknown) => error),
    );
    current.end(DOWN);
    await clock.run(0);
    for (const error of await Promise.all(waiting)) expect(hostClosedIn(error)?.host).toBe(HOST);
  });

  it('a host limiter keeps to the Retry-After of its host', async () => {
    const { acquire, refusal, clock, status } = open();
    (await acquire()).end(TOO_MUCH);
    expect(await refusal()).toMatchObject({
      code: 'source-busy',
      reason: 'retry-after',
      retryAfterSeconds: 30,
    });
    expect(status().retryAfter).toBe(clock.now() + 30_000);
    await clock.run(29_000);
    expect((await refusal('task')).reason).toBe('retry-after');
    await clock.run(1001);
    (await acquire()).end(ANSWERED);
    expect(status()).toMatchObject({ breaker: 'closed', retryAfter: null, closed: null });
  });

  it('a host limiter keeps tasks from its host in quiet hours, and people only if configured', async () => {
    const limits = { quietHours: '06:00-22:00', timeZone: 'Europe/Berlin' };
    const { refusal, acquire, clock } = open({ limits });
    const refused = await refusal('task');
    expect(hostClosedIn(refused)?.closing).toEqual({
      reason: 'quiet-hours',
      until: Date.parse('2026-11-15T21:00:00Z'),
    });
    (await acquire('interactive')).end(ANSWERED);
    await clock.run(9 * 3_600_000);
    (await acquire('task')).end(ANSWERED);
    expect((await open({ limits: { ...limits, quietFor: 'all' } }).refusal('interactive')).code).toBe(
      'source-busy',
    );
  });

  it('a host limiter sends no more in a day than its budget, over restarts and until midnight of its zone', async () => {
    const clock = createVirtualClock(Date.parse('2026-11-15T12:00:00Z'));
    const budgets = createMemoryLedger(clock);
    const limits = { dailyBudget: 250, timeZone: 'Asia/Tokyo' };
    let sent = 0;
    for (let life = 0; life < 3; life++) {
      const { acquire, limiter } = open({ limits, clock, budgets });
      for (let i = 0; i < 100; i++) {
        const permit = await acquire(i % 2 ? 'task' : 'interactive').catch(() => null);
        if (permit) sent++;
        permit?.end(ANSWERED);
      }
      await limiter.close();
    }
    expect(sent).toBe(250);
    const { refusal, acquire, status } = open({ limits, clock, budgets });
    // The first one queries the budget store.
    expect((await refusal()).reason).toBe('daily-budget');
    expect((await refusal()).retryAfterSeconds).toBe(3 * 3600);
    expect(status().budget).toEqual({ day: '2026-11-15', used: 250, limit: 250 });
    await clock.run(3 * 3_600_000);
    (await acquire()).end(ANSWERED);
    expect(status().budget).toMatchObject({ day: '2026-11-16', used: 1 });
  });

  it('a host limiter loses no more than a hundredth of a budget when it dies', async () => {
    const budgets = createMemoryLedger(createVirtualClock(0));
    const limits = { dailyBudget: 1000 };
    (await open({ limits, budgets }).acquire()).end(ANSWERED);
    const { acquire } = open({ limits, budgets });
    let sent = 1;
    for (;;) {
      const permit = await acquire().catch(() => null);
      if (!permit) break;
      permit.end(ANSWERED);
      sent++;
    }
    expect(sent).toBeLessThanOrEqual(1000);
    expect(sent).toBeGreaterThanOrEqual(990);
  });

  it('a host limiter begins nothing in the last seconds of a day that has a budget', async () => {
    const { refusal } = open({ limits: { dailyBudget: 10 }, start: '2026-11-15T23:59:58.500Z' });
    expect(await refusal()).toMatchObject({ reason: 'daily-budget', retryAfterSeconds: 2 });
  });

  it('a host limiter reports its figures', async () => {
    const { acquire, status, clock } = open({ limits: { ratePerSecond: 5, concurrency: 3 } });
    for (let i = 0; i < 20; i++) {
      const entering = acquire();
      await clock.runUntil(() => status().inFlight === 1, 5000);
      (await entering).end({ ...ANSWERED, ms: 10 * (i + 1) });
    }
    (await acquireLater(acquire, clock)).end({
      kind: 'refused',
      reason: 'status-404',
      ms: 7,
      retryAfterMs: null,
    });
    expect(status()).toMatchObject({
      host: HOST,
      requests: 21,
      inFlight: 0,
      latency: { p50: 110, p95: 200 },
      errors: { 'status-404': 1 },
      breaker: 'closed',
    });
    expect(status().requestsPerSecond).toBeLessThanOrEqual(5);
  });
});

async function acquireLater(acquire: () => Promise<Permit>, clock: VirtualClock): Promise<Permit> {
  const entering = acquire();
  await clock.run(2000);
  return entering;
}
