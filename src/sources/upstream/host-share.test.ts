import { expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/fixtures/clocks.ts';
import type { ShareWish } from '../../domain/upstream-status.ts';
import { silentLogger } from '../../lib/logger.ts';
import { HostShare, type HostShares } from './host-share.ts';

function openShare(renew: HostShares['renew'], clock = createVirtualClock()) {
  const demand = { wanted: 1 };
  const warnings: string[] = [];
  const share = new HostShare({
    host: 'maps.example.org',
    limits: () => ({ concurrency: 4, ratePerSecond: null }),
    shares: { renew, listen: () => () => {} },
    clock,
    log: { ...silentLogger, warn: (_: object, text?: string) => warnings.push(text ?? '') },
    held: () => 0,
    wanted: () => demand.wanted,
    urgent: () => 0,
    changed() {},
  });
  return {
    share,
    clock,
    demand,
    warnings,
    async close() {
      const closed = share.close();
      await clock.run(5000);
      await closed;
    },
  };
}

it('a request that comes while the share of a host is given back gets a place', async () => {
  const clock = createVirtualClock();
  const { share, demand, close } = openShare(async (_: string, { wanted }: ShareWish) => {
    if (wanted === 0) await clock.sleep(100);
    return { places: wanted, alone: true };
  }, clock);
  share.want();
  await clock.runUntil(() => share.places > 0, 1000);
  demand.wanted = 0;
  await clock.runUntil(() => share.places === 0, 10_000);
  demand.wanted = 1;
  share.want();
  await clock.runUntil(() => share.places > 0, 1000);
  await close();
  expect(share.places).toBe(0);
});

it.each([
  { late: 1, warned: 0 },
  { late: 4, warned: 1 },
])('a database that answers late $late times in a row is warned about $warned times', async (given) => {
  const clock = createVirtualClock();
  let renewals = 0;
  const { share, warnings, close } = openShare(async () => {
    renewals += 1;
    if (renewals <= given.late) await clock.sleep(60_000);
    return { places: 4, alone: true };
  }, clock);
  share.want();
  await clock.runUntil(() => share.places === 1, 2500);
  await clock.runUntil(() => share.places === 4, 20_000);
  await close();
  expect(warnings).toHaveLength(given.warned);
});
