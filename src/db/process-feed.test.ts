import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serialize } from 'node:v8';
import BetterSqlite3 from 'better-sqlite3';
import { expect, it } from 'vitest';
import { randomSeed } from '../../test/fixtures/length.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { systemClock } from '../lib/clock.ts';
import { createDeferred } from '../lib/deferred.ts';
import { silentLogger } from '../lib/logger.ts';
import { createProcessFeed, GONE, MISSED, ProcessFeed } from './process-feed.ts';

async function openFeeds(count: number) {
  const data = await mkdtemp(join(tmpdir(), 'tilewarden-feed-'));
  const env = { clock: systemClock, log: silentLogger };
  const parent = await createProcessFeed(data, env);
  const silent: number[] = [];
  const open = (instance: string) =>
    new ProcessFeed({
      data,
      instance,
      onSilent: (pid) => silent.push(pid),
      ...env,
    });
  const feeds = Array.from({ length: count }, (_, index) => open(`process ${index}`));
  whenOver(async () => {
    for (const feed of feeds) await feed.close();
    parent.close();
    await rm(data, { recursive: true, force: true });
  });
  return {
    data,
    parent,
    feeds: feeds as [ProcessFeed, ProcessFeed, ProcessFeed, ...ProcessFeed[]],
    open,
    silent,
  };
}

it('a notice that is posted is applied by the next poll of another process, and not by its own', async () => {
  const { feeds } = await openFeeds(2);
  const [one, other] = feeds;
  const seen: unknown[] = [];
  for (const feed of feeds) feed.on('tiles', (body) => void seen.push([feed === other, body]));
  one.post('tiles', { layer: 'a' });
  one.post('tiles', { layer: 'b' });
  await one.posted();
  for (const feed of feeds) feed.poll();
  other.poll();
  expect(seen).toEqual([
    [true, { layer: 'a' }],
    [true, { layer: 'b' }],
  ]);
});

it('a question of a process resolves when the others have handled it and all earlier notices', async () => {
  const { feeds } = await openFeeds(3);
  const [one, slow, quick] = feeds;
  const held = createDeferred<void>();
  const order: string[] = [];
  slow.on('catalog', async () => {
    await held.promise;
    order.push('handled');
  });
  for (const feed of [slow, quick]) await feed.follow();
  const asked = one.ask('catalog').then(() => order.push('resolved'));
  const later = one.ask('keys').then(() => order.push('later'));
  slow.poll();
  held.resolve();
  await Promise.all([asked, later]);
  expect(order[0]).toBe('handled');
});

it('a process that opens after a question, or has ended, is not waited for', async () => {
  const { feeds, open, parent } = await openFeeds(2);
  const [one, other] = feeds;
  const following = await other.follow();
  await one.ask('keys');
  const late = open('late');
  await following.close();
  const lateFollowing = await late.follow();
  void parent.gone(process.pid, true);
  await one.ask('keys');
  await lateFollowing.close();
  await late.close();
});

it('the end of a process is recorded although another one writes at that moment', async () => {
  const { data, feeds, parent } = await openFeeds(2);
  const [one, other] = feeds;
  await other.follow();
  const writer = new BetterSqlite3(join(data, 'processes.db'));
  writer.exec('begin immediate');
  const gone = parent.gone(process.pid, true);
  writer.exec('commit');
  writer.close();
  await gone;
  await one.ask('keys');
});

it('figures of a process that has ended are kept, and marked as such; the others are notified', async () => {
  const { feeds, parent } = await openFeeds(2);
  const [one, other] = feeds;
  const gone: unknown[] = [];
  one.on(GONE, (body) => void gone.push(body));
  await other.follow();
  await other.publish(serialize({ hits: 3 }));
  expect(one.published()).toEqual([{ live: true, body: { hits: 3 } }]);
  void parent.gone(process.pid, true);
  expect(one.published()).toEqual([{ live: false, body: { hits: 3 } }]);
  one.poll();
  expect(gone).toMatchObject([{ crashed: true }]);
});

it('a process that was stopped while thousands of notices came is called upon to drop everything', async () => {
  const { feeds } = await openFeeds(2);
  const [one, other] = feeds;
  const seen: string[] = [];
  other.on(MISSED, () => void seen.push(MISSED));
  for (let round = 0; round < 30; round++) {
    for (let i = 0; i < 1000; i++) one.post('tiles', null);
    await one.posted();
  }
  other.poll();
  expect(seen).toEqual([MISSED]);
});

const SEED = randomSeed();

it(`a copy that was removed and acknowledged in one process is shown by none (seed ${SEED})`, async () => {
  const { feeds } = await openFeeds(3);
  let state = SEED;
  const next = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
  const stored = new Map<number, number>();
  const acknowledged = new Map<number, number>();
  const memories = feeds.map((feed) => {
    const copies = new Map<number, number>();
    feed.on('tiles', (place) => void copies.delete(place as number));
    return copies;
  });
  for (let step = 0; step < 2000; step++) {
    const at = next(feeds.length);
    const [feed, copies] = [feeds[at], memories[at]];
    if (!feed || !copies) continue;
    const place = next(5);
    if (next(4) === 0) {
      const version = (stored.get(place) ?? 0) + 1;
      stored.set(place, version);
      copies.delete(place);
      feed.post('tiles', place);
      if (next(3) > 0) {
        await feed.posted();
        acknowledged.set(place, version);
      }
    } else {
      feed.poll();
      const shown = copies.get(place) ?? stored.get(place) ?? 0;
      copies.set(place, shown);
      expect(shown).toBeGreaterThanOrEqual(acknowledged.get(place) ?? 0);
    }
  }
});
