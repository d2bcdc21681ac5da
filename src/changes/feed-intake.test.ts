import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openTestDatabase } from '../../test/fixtures/databases.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import type { ChangeFeedSettings } from './change-options.ts';
import { createFeedIntake } from './feed-intake.ts';
import { createFeedStore } from './feed-store.ts';

/** The states of a feed as they are reported, by nodes that lead one after another. */
async function openNodes() {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-intake-'));
  const database = await openTestDatabase(folder);
  whenOver(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const store = createFeedStore(database, systemClock);
  await store.prepare('news');
  const reported: string[] = [];
  const openNode = () =>
    createFeedIntake({ name: 'news', layers: ['roads'] } as ChangeFeedSettings, {
      store,
      apply: async () => {},
      audit: async () => {},
      notifier: { changeFeed: (_, failure) => void reported.push(failure === null ? 'ok' : 'failing') },
      clock: systemClock,
      log: silentLogger,
    });
  return { openNode, reported, store };
}

it('a feed that fails again after another node has seen it work is reported again', async () => {
  const { openNode, reported } = await openNodes();
  const [first, second] = [openNode(), openNode()];
  await first.fails('no answer');
  await first.fails('no answer');
  await second.works();
  await first.fails('no answer');
  expect(reported).toEqual(['failing', 'ok', 'failing']);
});

it('a feed that works after a restart is reported as recovered', async () => {
  const { openNode, reported } = await openNodes();
  await openNode().fails('no answer');
  await openNode().works();
  expect(reported).toEqual(['failing', 'ok']);
});

it('the latest change that could not be used stays shown while a feed works', async () => {
  const { openNode, store } = await openNodes();
  const node = openNode();
  await node.works('entry 7 has no geometry');
  await node.works();
  expect(await store.state('news')).toMatchObject({ state: 'ok', error: 'entry 7 has no geometry' });
  await node.fails('no answer');
  await node.works();
  expect(await store.state('news')).toMatchObject({ state: 'ok', error: null });
});
