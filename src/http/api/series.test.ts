import { expect, it } from 'vitest';
import { tileResponse } from '../../../test/fixtures/http-app.ts';
import { TilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { CacheOutcome, ResolvedTileSet, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { CallerGone } from '../context.ts';
import { countReads } from '../metrics/tile-counts.ts';
import { addEvictions, createTrafficSeries, seriesResponse } from './series.ts';

const NOON = Date.UTC(2026, 0, 2, 12, 0, 30);

function openSeries() {
  const time = { now: NOON, outcome: 'HIT' as CacheOutcome | Error };
  const clock = { now: () => time.now, monotonic: () => time.now } as Clock;
  const series = createTrafficSeries(clock);
  const read: TilePipeline['read'] = async () => {
    time.now += 40;
    if (time.outcome instanceof Error) throw time.outcome;
    return tileResponse({ outcome: time.outcome, bytes: Buffer.alloc(100) });
  };
  const counted = countReads({ read }, clock, series);
  const ask = async (outcome: CacheOutcome | Error) => {
    time.outcome = outcome;
    try {
      await counted.read({ set: {} } as ResolvedTileSet, { z: 0, x: 0, y: 0 });
    } catch {
      // A failure is counted too.
    }
    await Promise.resolve();
    counted.flush();
  };
  return { time, ask, document: () => seriesResponse.parse(addEvictions(series.document(), [])) };
}

it('a series counts tile requests by outcome, minute by minute', async () => {
  const { time, ask, document } = openSeries();
  await ask('HIT');
  await ask('HIT');
  await ask('MISS');
  await ask(new TilewardenError('source-timeout', 'The map source did not answer in time.'));
  time.now += 120_000;
  await ask('STALE');
  expect(document()).toMatchObject({
    from: '2026-01-02T12:00:00.000Z',
    stepSeconds: 60,
    hits: [2, 0, 0],
    misses: [1, 0, 0],
    stale: [0, 0, 1],
    failed: [1, 0, 0],
    bytes: [300, 0, 100],
    missMilliseconds: [40, 0, 0],
  });
});

it('a series does not count a departed caller or an absent tile as a failure', async () => {
  const { ask, document } = openSeries();
  await ask(new CallerGone());
  await ask(new TilewardenError('tile-outside', 'There is no such tile.'));
  expect(document().failed).toEqual([0]);
});

it('a series counts evictions of the database in the minute in which they were', async () => {
  const { time, ask, document } = openSeries();
  await ask('HIT');
  time.now += 120_000;
  const begin = Date.parse(document().from);
  const evicted = [0, 5000, 60_000, 180_000].map((after) => {
    return { layer: '', at: begin + after, pages: 1, tiles: 7, bytes: 700 };
  });
  const { evictedTiles, evictedBytes } = addEvictions(document(), evicted);
  expect([evictedTiles, evictedBytes]).toEqual([
    [14, 7, 0],
    [1400, 700, 0],
  ]);
});

it('a series keeps one day, however long no client requests it', async () => {
  const { time, ask, document } = openSeries();
  await ask('HIT');
  time.now += 23 * 3_600_000;
  expect(document().hits.reduce((sum, count) => sum + count, 0)).toBe(1);
  time.now += 40 * 86_400_000;
  const { hits } = document();
  expect(hits).toHaveLength(1440);
  expect(hits.every((count) => count === 0)).toBe(true);
});
