import { describe, expect, it } from 'vitest';
import { type HostManner, SilenceWatch, type UnderWay } from './silence-watch.ts';

const QUICK: HostManner = { failing: false, most: 8, usualMs: () => 50 };
const FAILING: HostManner = { ...QUICK, failing: true };

function watchOf(...moments: readonly number[]) {
  const watch = new SilenceWatch<UnderWay>();
  const requests = moments.map((begunAt) => ({ begunAt }));
  for (const request of requests) watch.begun(request, false);
  return { watch, requests };
}

describe('a host that says nothing', () => {
  it('a host is silent after a second, and later if its answers usually take long', () => {
    const { watch } = watchOf(0, 10);
    expect(watch.delayAt(400, QUICK)).toBe(600);
    expect(watch.delayAt(1000, QUICK)).toBe(0);
    expect(watch.delayAt(1000, { ...QUICK, usualMs: () => 800 })).toBe(3000);
    expect(watch.delayAt(1000, { ...QUICK, usualMs: () => null })).toBe(4000);
  });

  it('a host is not silent while it answers other requests, or while there are none', () => {
    const { watch, requests } = watchOf(0, 10, 900);
    const [, second] = requests;
    if (second) watch.ended(second, 950);
    expect(watch.delayAt(5000, QUICK)).toBe(Number.POSITIVE_INFINITY);
    expect(watchOf().watch.delayAt(5000, QUICK)).toBe(Number.POSITIVE_INFINITY);
  });

  it('a silent host gets a probe in every six tenths of a second, in the place of the one before', () => {
    const { watch, requests } = watchOf(0, 10);
    const [first] = requests;
    expect(watch.givesWay(8)).toBeNull();
    expect(watch.givesWay(2)).toBe(first);
    const probe = { begunAt: 1000 };
    watch.begun(probe, true);
    expect(watch.givesWay(8)).toBe(probe);
    expect(watch.delayAt(1200, QUICK)).toBe(400);
    expect(watch.delayAt(1600, QUICK)).toBe(0);
  });

  it('a silent host is probed sooner when it is known to fail', () => {
    expect(watchOf(0).watch.delayAt(600, FAILING)).toBe(0);
  });

  it('a silent host gets more and more time if there is one place only', () => {
    const { watch } = watchOf();
    const alone = { ...QUICK, most: 1 };
    const probe = { begunAt: 0 };
    watch.begun(probe, true);
    expect(watch.delayAt(1100, alone)).toBe(100);
    watch.ended(probe, null);
    watch.begun({ begunAt: 1200 }, true);
    expect(watch.delayAt(2300, alone)).toBe(1300);
  });
});
