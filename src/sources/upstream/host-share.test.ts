import { expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/fixtures/virtual-clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { HostShare, type ShareWish } from './host-share.ts';

it('a request that comes while the share of a host is given back gets a place', async () => {
  const clock = createVirtualClock();
  const shares = {
    renew: async (_: string, { wanted }: ShareWish) => {
      if (wanted === 0) await clock.sleep(100);
      return { places: wanted, alone: true };
    },
    listen: () => () => {},
  };
  let wanted = 1;
  const share = new HostShare({
    host: 'maps.example.org',
    limits: () => ({ concurrency: 4, ratePerSecond: null }),
    shares,
    clock,
    log: silentLogger,
    held: () => 0,
    wanted: () => wanted,
    urgent: () => 0,
    changed() {},
  });
  share.want();
  await clock.runUntil(() => share.places > 0, 1000);
  wanted = 0;
  await clock.runUntil(() => share.places === 0, 10_000);
  wanted = 1;
  share.want();
  await clock.runUntil(() => share.places > 0, 1000);
  const closed = share.close();
  await clock.run(1000);
  await closed;
  expect(share.places).toBe(0);
});
