import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/fixtures/clocks.ts';
import type { HostOutage } from '../../domain/upstream-status.ts';
import { createMemoryLedger } from '../../lib/budget.ts';
import { silentLogger } from '../../lib/logger.ts';
import { type HostOutageStore, openUpstreamLimiter } from './open-upstream-limiter.ts';
import type { RequestEnd } from './upstream-limiter.ts';
import { upstreamOptions } from './upstream-options.ts';

const HOST = 'maps.example.org:443';
const GOOD: RequestEnd = { kind: 'answered', reason: null, ms: 20, retryAfterMs: null };
const DOWN: RequestEnd = { kind: 'failed', reason: 'connection', ms: 5, retryAfterMs: null };

/** Two nodes that report each other what they know. */
function openNodes() {
  const clock = createVirtualClock();
  const reported = new Map<
    string,
    { readonly by: number; readonly at: number; readonly outage: HostOutage }
  >();
  const listeners = new Set<() => void>();
  const storeOf = (node: number): HostOutageStore => ({
    async report(host, outage) {
      if (outage) reported.set(host, { by: node, at: clock.monotonic(), outage });
      if (!outage) reported.delete(host);
      for (const onChange of listeners) onChange();
    },
    read: async () =>
      new Map(
        [...reported].flatMap(([host, { by, at, outage }]) => {
          const passed = clock.monotonic() - at;
          const { interactiveMs, taskMs } = outage;
          const now = { ...outage, interactiveMs: interactiveMs - passed, taskMs: taskMs - passed };
          return by === node ? [] : [[host, now] as const];
        }),
      ),
    listen(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  });
  const [one, other] = [1, 2].map((node) =>
    openUpstreamLimiter({
      upstreams: { 'maps.example.org': upstreamOptions.parse({ adaptive: false }) },
      budgets: createMemoryLedger(clock),
      outages: storeOf(node),
      clock,
      random: () => 0.5,
      log: silentLogger,
    }),
  );
  if (!one || !other) throw new Error('there are two');
  const ask = async (limiter: typeof one, end: RequestEnd) =>
    (await limiter.acquire(HOST, 'task', new AbortController().signal)).end(end);
  const stateOf = (limiter: typeof one) => limiter.report().find(({ host }) => host === HOST);
  return { clock, one, other, ask, stateOf };
}

describe('nodes that share host outages', () => {
  it('nodes leave a host alone that one of them has found failing, and use it again when one has an answer', async () => {
    const { clock, one, other, ask, stateOf } = openNodes();
    for (let i = 0; i < 5; i++) await ask(one, DOWN);
    await clock.run(1);
    expect(stateOf(other)?.breaker).toBe('open');
    expect(stateOf(other)).toMatchObject({
      state: 'failing',
      closed: { reason: 'failing', failure: 'connection' },
    });
    await expect(ask(other, GOOD)).rejects.toMatchObject({ code: 'source-busy' });
    await clock.runUntil(() => stateOf(one)?.breaker === 'half-open', 2000);
    await ask(one, GOOD);
    await clock.run(1);
    expect(stateOf(other)).toMatchObject({ state: 'healthy', breaker: 'closed', closed: null });
    await ask(other, GOOD);
    await Promise.all([one.close(), other.close()]);
  });

  it('nodes send one request after the pause that another node has reported', async () => {
    const { clock, one, other, ask, stateOf } = openNodes();
    for (let i = 0; i < 5; i++) await ask(one, DOWN);
    await clock.run(2000);
    const first = await other.acquire(HOST, 'task', new AbortController().signal);
    expect(stateOf(other)?.state).toBe('probing');
    await expect(ask(other, GOOD)).rejects.toMatchObject({ code: 'source-busy' });
    first.end(GOOD);
    await ask(other, GOOD);
    await Promise.all([one.close(), other.close()]);
  });

  it('nodes trust their own answers more than the reports of others', async () => {
    const { clock, one, other, ask, stateOf } = openNodes();
    await ask(other, GOOD);
    for (let i = 0; i < 5; i++) await ask(one, DOWN);
    for (let i = 0; i < 8; i++) {
      await ask(other, GOOD);
      await clock.run(500);
      expect(stateOf(other)?.breaker).toBe('closed');
    }
    await Promise.all([one.close(), other.close()]);
  });
});
