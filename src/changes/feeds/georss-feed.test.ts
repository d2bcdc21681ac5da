import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openTestDatabase } from '../../../test/fixtures/databases.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Change } from '../change-options.ts';
import { createFeedIntake } from '../feed-intake.ts';
import { createFeedStore } from '../feed-store.ts';
import { createGeoRssFeed, type FetchedDocument } from './georss-feed.ts';

const NOW = Date.parse('2026-05-01T12:00:00Z');
const entry = (id: string, updated: string) =>
  `<entry><id>${id}</id><updated>${updated}</updated><point>50 8</point></entry>`;

/** A feed of a server that keeps entries, and what was requested and applied. */
async function openFeed(url: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-georss-'));
  const database = await openTestDatabase(folder);
  whenOver(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const clock = { ...systemClock, now: () => NOW };
  const store = createFeedStore(database, clock);
  await store.prepare('news');
  const settings = { name: 'news', type: 'georss', srs: 'EPSG:4326', url, layers: ['roads'] } as never;
  const requests: { readonly url: string; readonly validator: string | null }[] = [];
  const applied: Change[] = [];
  const server = { entries: [] as string[], validator: null as string | null };
  const intake = createFeedIntake(settings, {
    store,
    apply: async (_, changes) => void applied.push(...changes),
    audit: async () => {},
    notifier: { changeFeed() {} },
    clock,
    log: silentLogger,
  });
  const fetchDocument = async (address: URL, validator: string | null): Promise<FetchedDocument | null> => {
    requests.push({ url: decodeURIComponent(address.search), validator });
    if (validator !== null && validator === server.validator) return null;
    const bytes = Buffer.from(`<feed>${server.entries.join('')}</feed>`);
    return { bytes, validator: server.validator };
  };
  const feed = createGeoRssFeed(settings, fetchDocument, { intake, store, clock, log: silentLogger });
  const poll = () => feed.poll(new AbortController().signal);
  return { poll, server, requests, applied, store };
}

it('an entry from the future does not silence the entries before it', async () => {
  const { poll, server, requests, applied } = await openFeed('http://news.test/?since={since}');
  server.entries = [entry('a', '2026-05-01T11:00:00Z'), entry('b', '2099-01-01T00:00:00Z')];
  await poll();
  expect(applied).toHaveLength(1);
  await poll();
  expect(requests.at(-1)?.url).toBe('?since=2026-05-01T11:00:00Z');
  expect(applied).toHaveLength(1);
});

it('an entry from the future is applied again when its time is put right', async () => {
  const { poll, server, applied } = await openFeed('http://news.test/');
  server.entries = [entry('b', '2099-01-01T00:00:00Z')];
  await poll();
  server.entries = [entry('b', '2026-05-01T11:00:00Z')];
  await poll();
  await poll();
  expect(applied).toHaveLength(2);
});

it('a feed that was silenced by an entry from the future reads all entries again', async () => {
  const { poll, requests, store } = await openFeed('http://news.test/?since={since}');
  const newest = Date.parse('2099-01-01T00:00:00Z');
  await store.record('news', { received: 0, applied: 0, changes: [], newest });
  await poll();
  expect(requests[0]?.url).toBe('?since=1970-01-01T00:00:00Z');
});

it('a document that has not changed is requested by its validator and not read again', async () => {
  const { poll, server, requests, applied } = await openFeed('http://news.test/');
  Object.assign(server, { entries: [entry('a', '2026-05-01T11:00:00Z')], validator: '"one"' });
  await poll();
  await poll();
  Object.assign(server, { entries: [entry('a', '2026-05-01T11:30:00Z')], validator: '"two"' });
  await poll();
  expect(requests.map(({ validator }) => validator)).toEqual([null, '"one"', '"one"']);
  expect(applied).toHaveLength(2);
});

it('a document that could not be read is not taken as known', async () => {
  const { poll, server, requests } = await openFeed('http://news.test/');
  Object.assign(server, { entries: ['<entry>'], validator: '"one"' });
  await expect(poll()).rejects.toThrow();
  await expect(poll()).rejects.toThrow();
  expect(requests.map(({ validator }) => validator)).toEqual([null, null]);
});
