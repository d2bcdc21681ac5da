import { describe, expect, it } from 'vitest';
import {
  describeQuota,
  describeUsage,
  type QuotaDocument,
  quotaChange,
  type UsageDocument,
} from './quota.ts';

const NOW = {
  enabled: true,
  cacheCleanUpFrequency: 10,
  cacheCleanUpUnits: 'SECONDS',
  maxConcurrentCleanUps: 2,
  globalExpirationPolicyName: 'LFU',
  globalQuota: { value: 500, units: 'MiB' },
  layerQuotas: [{ layer: 'world', expirationPolicyName: 'LRU', quota: { value: 5, units: 'GiB' } }],
} as QuotaDocument;

describe('tilewarden quota set', () => {
  it.each([
    [
      { on: 'true', size: '100 GiB', policy: 'LRU' },
      { enabled: true, globalQuota: { value: 100, units: 'GiB' }, globalExpirationPolicyName: 'LRU' },
    ],
    [{ off: 'true' }, { enabled: false }],
    [{ size: '100GB' }, { globalQuota: { value: 93.13, units: 'GiB' } }],
    [
      { size: '2 tib', policy: 'lru' },
      { globalQuota: { value: 2, units: 'TiB' }, globalExpirationPolicyName: 'LRU' },
    ],
    [{ every: '30s' }, { cacheCleanUpFrequency: 30, cacheCleanUpUnits: 'SECONDS' }],
    [{ every: '5 minutes' }, { cacheCleanUpFrequency: 5, cacheCleanUpUnits: 'MINUTES' }],
    [{ layer: 'world', 'no-size': 'true' }, { layerQuotas: [] }],
    [
      { layer: 'roads', size: '1.5TiB' },
      {
        layerQuotas: [
          NOW.layerQuotas[0],
          { layer: 'roads', expirationPolicyName: 'LFU', quota: { value: 1.5, units: 'TiB' } },
        ],
      },
    ],
    [
      { layer: 'world', policy: 'LFU' },
      { layerQuotas: [{ ...NOW.layerQuotas[0], expirationPolicyName: 'LFU' }] },
    ],
  ])('quota set with %o sends only the changes', (flags, change) => {
    expect(quotaChange(flags, NOW)).toEqual(change);
  });

  it.each([
    {},
    { on: 'true', off: 'true' },
    { size: 'plenty' },
    { every: 'now' },
    { layer: 'roads' },
    { 'no-size': 'true' },
  ])('quota set reports what is wrong with %o', (flags) => {
    expect(() => quotaChange(flags, NOW)).toThrow(/--(on|size|every|layer)/);
  });

  it.each([
    [{ size: '100 XB' }, '--size must be a number with B, KB, MB, GB, TB, KiB, MiB, GiB or TiB'],
    [{ policy: 'FIFO' }, '--policy must be LRU or LFU, not FIFO.'],
    [{ every: '5 fortnights' }, '--every must be a number with seconds, minutes, hours or days'],
  ])('quota set names the flag that is wrong in %o, and what it takes', (flags, message) => {
    expect(() => quotaChange(flags, NOW)).toThrow(message);
  });
});

it('the quota is shown as a table', () => {
  expect(describeQuota(NOW)).toBe(
    'The quota is enforced every 10 seconds\nLAYER       QUOTA    POLICY\nworld       5 GiB    LRU\nall layers  500 MiB  LFU\n',
  );
});

it('the usage of each layer is shown, the largest first, with bars', () => {
  const set = {
    gridSet: 'EPSG:4326',
    format: 'image/png',
    parametersId: 'abcdef0123',
    parameters: { STYLES: 'dark' },
    bytes: 3072,
    tiles: 2,
  };
  const usage = {
    bytes: 4096,
    tiles: 3,
    sweeping: 1024,
    quota: { enabled: true, globalQuota: { bytes: 8192 } },
    growthPerDay: 2048,
    fullInDays: 2,
    evicted: { pages: 1, tiles: 7, bytes: 100 },
    disks: [
      { store: 'default', freePercent: 1.5, storing: false },
      { store: 'other', freePercent: 50, storing: true },
    ],
    layers: [
      { name: 'small', bytes: 1024, tiles: 1, tileSets: [] },
      { name: 'large', bytes: 3072, tiles: 2, tileSets: [set] },
    ],
  } as unknown as UsageDocument;
  expect(describeUsage(usage, true)).toBe(`LAYER                              SIZE     TILES  SHARE
large                              3.0 KiB  2      ███████████████░░░░░ 75 %
  EPSG:4326 image/png STYLES=dark  3.0 KiB  2      ███████████████░░░░░ 75 %
small                              1.0 KiB  1      █████░░░░░░░░░░░░░░░ 25 %
all layers                         4.0 KiB  3

Quota ██████████░░░░░░░░░░ 50 % of 8.0 KiB
1.0 KiB of dropped tiles are being freed
7 tiles, 100 B, evicted so far
Growth 2.0 KiB per day
Full in 2 days
The disk of the store default is full (1.5 % free): tiles are not stored`);
});
