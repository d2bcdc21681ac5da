import { describe, expect, it } from 'vitest';
import { daysUntilFull } from './usage-history.ts';

const GIB = 2 ** 30;

describe('days until it is full', () => {
  const quota = { enabled: true, globalQuota: { value: 10, units: 'GiB' } } as const;
  const off = { ...quota, enabled: false };
  const disk = { folder: '/tiles', freeBytes: 4 * GIB, freePercent: 20, minFreePercent: 2, storing: true };

  it.each([
    ['by the quota', { bytes: 4 * GIB, growthPerDay: 2 * GIB, quota, disks: [] }, 3],
    [
      'by the disk, down to what must be free',
      { bytes: 0, growthPerDay: GIB, quota: off, disks: [disk] },
      3.6,
    ],
    ['by whichever is sooner', { bytes: 9.5 * GIB, growthPerDay: GIB, quota, disks: [disk] }, 0.5],
    ['now, when the quota is used up', { bytes: 10 * GIB, growthPerDay: null, quota, disks: [] }, 0],
    [
      'now, when nothing is stored for want of room',
      { bytes: 0, growthPerDay: null, quota: off, disks: [{ ...disk, storing: false }] },
      0,
    ],
    ['unknown while growth is', { bytes: 0, growthPerDay: null, quota, disks: [disk] }, null],
    ['never, when nothing grows', { bytes: 0, growthPerDay: 0, quota, disks: [disk] }, null],
    ['never, without quota and disk', { bytes: 0, growthPerDay: GIB, quota: off, disks: [] }, null],
  ])('the cache is full %s', (_how, stores, days) => {
    expect(daysUntilFull(stores)).toBe(days);
  });
});
