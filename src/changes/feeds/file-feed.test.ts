import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openTestDatabase } from '../../../test/fixtures/databases.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { createFeedIntake } from '../feed-intake.ts';
import { createFeedStore } from '../feed-store.ts';
import { createFileFeed } from './file-feed.ts';

const QUIET = 2000;

async function openFeed() {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-file-'));
  const database = await openTestDatabase(folder);
  whenOver(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  let now = 1000;
  const clock = { ...systemClock, now: () => now, monotonic: () => now };
  const store = createFeedStore(database, clock);
  await store.prepare('project');
  let marks = 0;
  const settings = { name: 'project', layers: ['roads'], action: 'invalidate' as const, buffer: 0 };
  const intake = createFeedIntake(settings, {
    store,
    apply: async (_, changes) => {
      marks += changes.length;
    },
    audit: async () => {},
    notifier: { changeFeed() {} },
    clock,
    log: silentLogger,
  });
  const path = join(folder, 'map.qgz');
  const tools = { intake, store, clock, log: silentLogger };
  const { signal } = new AbortController();
  const start = () => createFileFeed({ ...settings, type: 'file', path }, tools);
  let feed = start();
  return {
    write: (text: string) => writeFileSync(path, text),
    restart: () => {
      feed = start();
    },
    poll: () => feed.poll(signal),
    /** Two polls, with the time in between that a file must be quiet for; returns the marks so far. */
    async settled(): Promise<number> {
      await feed.poll(signal);
      now += QUIET;
      await feed.poll(signal);
      return marks;
    },
  };
}

it('a file with other content marks its layers once, also after a restart', async () => {
  const feed = await openFeed();
  feed.write('a');
  expect(await feed.settled()).toBe(0);
  feed.write('b');
  await feed.poll();
  feed.restart();
  expect(await feed.settled()).toBe(1);
  feed.restart();
  expect(await feed.settled()).toBe(1);
});

it('a file that is saved without a change marks nothing, one that goes back to former content does', async () => {
  const feed = await openFeed();
  feed.write('a');
  await feed.settled();
  feed.write('a');
  expect(await feed.settled()).toBe(0);
  feed.write('b');
  expect(await feed.settled()).toBe(1);
  feed.write('a');
  expect(await feed.settled()).toBe(2);
});

it('a file that is being written is not read yet, and a missing one is a failure', async () => {
  const feed = await openFeed();
  await expect(feed.poll()).rejects.toThrow('map.qgz: there is no such file');
  feed.write('a');
  await feed.settled();
  feed.write('part');
  await feed.poll();
  feed.write('part and more');
  await feed.poll();
  expect(await feed.settled()).toBe(1);
});
