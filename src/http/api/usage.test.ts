import { expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed } from '../../../test/fixtures/http-app.ts';
import { systemClock } from '../../lib/clock.ts';
import { DEFAULT_QUOTA_CONFIGURATION } from '../../quota/quota-configuration.ts';
import type { QuotaService, UsageReport } from '../../quota/quota-service.ts';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 5, 10, 12, 34);
const EVICTED = { pages: 2, tiles: 300, bytes: 70_000 };

const REPORT: UsageReport = {
  bytes: 6000,
  tiles: 30,
  sweeping: { files: 2, bytes: 500 },
  quota: {
    ...DEFAULT_QUOTA_CONFIGURATION,
    enabled: true,
    globalQuota: { value: 12_000, units: 'B' },
    layerQuotas: [{ layer: 'world', expirationPolicyName: 'LRU', quota: { value: 8, units: 'KiB' } }],
  },
  evicted: EVICTED,
  evictedByLayer: new Map([['world', EVICTED]]),
  disks: new Map([
    [
      'default',
      { folder: '/tiles', freeBytes: 1000, freePercent: 1.2345, minFreePercent: 2, storing: false },
    ],
  ]),
  growthPerDay: 1500,
  fullInDays: 4,
  parameters: new Map([['abc', new Map([['STYLES', 'dark']])]]),
  layers: [
    {
      name: 'world',
      bytes: 4096,
      tiles: 20,
      tileSets: [
        {
          gridSet: 'EPSG:4326',
          format: 'image/png',
          parametersId: 'abc',
          bytes: 4096,
          tiles: 20,
          zooms: [{ z: 3, bytes: 4096, tiles: 20 }],
        },
      ],
    },
    { name: 'gone', bytes: 1904, tiles: 10, tileSets: [] },
  ],
};

function openApp(parts: Partial<QuotaService>) {
  const catalog = catalogOf([layerNamed('world')]);
  const clock = { ...systemClock, now: () => NOW };
  const quota = { usage: async () => REPORT, ...parts } as unknown as QuotaService;
  return createTestApp({ deps: { catalog, quota, clock } });
}

it('usage is reported in all, by layer, tile set and zoom, with quota, share, evictions, growth and room', async () => {
  const answer = await openApp({}).request('GET', '/api/v1/usage');
  expect(answer.status).toBe(200);
  const { quota, ...document } = JSON.parse(answer.text);
  expect(quota).toMatchObject({ enabled: true, globalQuota: { value: 12_000, units: 'B', bytes: 12_000 } });
  expect(document).toEqual({
    bytes: 6000,
    tiles: 30,
    sweeping: 500,
    sweepingFiles: 2,
    share: 0.5,
    evicted: EVICTED,
    growthPerDay: 1500,
    fullInDays: 4,
    disks: [
      {
        store: 'default',
        folder: '/tiles',
        freeBytes: 1000,
        freePercent: 1.23,
        minFreePercent: 2,
        storing: false,
      },
    ],
    layers: [
      {
        name: 'world',
        bytes: 4096,
        tiles: 20,
        quota: 8192,
        share: 0.5,
        evicted: EVICTED,
        tileSets: [
          {
            gridSet: 'EPSG:4326',
            format: 'image/png',
            parametersId: 'abc',
            parameters: { STYLES: 'dark' },
            bytes: 4096,
            tiles: 20,
            zooms: [{ z: 3, bytes: 4096, tiles: 20 }],
          },
        ],
      },
      {
        name: 'gone',
        bytes: 1904,
        tiles: 10,
        quota: null,
        share: null,
        evicted: { pages: 0, tiles: 0, bytes: 0 },
        tileSets: [],
      },
    ],
  });
});

it('evictions are reported hour by hour, in all and by layer, up to the current hour', async () => {
  const now = Math.floor(NOW / HOUR) * HOUR;
  const requestedSince: number[] = [];
  const evictedHours: QuotaService['evictedHours'] = async (since) => {
    requestedSince.push(since);
    return [
      { layer: 'world', at: now - 2 * HOUR, pages: 1, tiles: 5, bytes: 50 },
      { layer: 'rivers', at: now, pages: 1, tiles: 1, bytes: 10 },
      { layer: 'world', at: now, pages: 1, tiles: 2, bytes: 20 },
    ];
  };
  const app = openApp({ evictedHours });
  const document = JSON.parse((await app.request('GET', '/api/v1/evictions?days=1')).text);
  expect(requestedSince).toEqual([now - 23 * HOUR]);
  expect(document).toMatchObject({ from: new Date(now - 23 * HOUR).toISOString(), stepSeconds: 3600 });
  expect(document.tiles).toEqual([...Array(21).fill(0), 5, 0, 3]);
  expect(document.bytes.slice(-3)).toEqual([50, 0, 30]);
  expect(document.layers.map(({ name }: { name: string }) => name)).toEqual(['rivers', 'world']);
  expect(document.layers[1].tiles.slice(-3)).toEqual([5, 0, 2]);
  const week = JSON.parse((await app.request('GET', '/api/v1/evictions')).text);
  expect(week.tiles).toHaveLength(7 * 24);
});

it.each(['0', '32', 'many', '-1', '1.5', ''])('evictions of %j days are refused', async (days) => {
  const answer = await openApp({}).request('GET', `/api/v1/evictions?days=${days}`);
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('from 1 to 31')]);
});
