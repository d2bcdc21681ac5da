import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Change } from '../change-options.ts';
import type { PolledFeedTools } from './polled-feed.ts';
import { createTileListFeed } from './tile-list-feed.ts';

const LINES = 50_000;

function feedOf(folder: string, tools: PolledFeedTools) {
  const settings = {
    name: 'osm',
    type: 'tile-list',
    folder,
    layers: ['osm'],
    action: 'invalidate',
    buffer: 0,
  };
  return createTileListFeed(settings as Parameters<typeof createTileListFeed>[0], tools);
}

it('a file in the place of the folder for applied lists makes the feed failing before any list is applied', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-lists-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'applied'), '');
  const intake = { waiting: async () => {} };
  const feed = feedOf(folder, {
    intake,
    clock: systemClock,
    log: silentLogger,
  } as unknown as PolledFeedTools);
  await expect(feed.poll(new AbortController().signal)).rejects.toThrow(/it cannot be used \(ENOTDIR\)/);
});

it('a long tile list is applied piece by piece, and counts as one change when all of it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-lists-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
  // No two are neighbours.
  const lines = Array.from({ length: LINES }, (_, i) => `16/${2 * (i % 1000)}/${2 * Math.floor(i / 1000)}`);
  writeFileSync(join(folder, 'long.tiles'), lines.join('\n'));
  const accepted: { tiles: number; applied: number | undefined; isMoved: boolean }[] = [];
  const intake = {
    async accept({ changes, applied }: { changes: readonly Change[]; applied?: number }) {
      const tiles = changes.reduce((sum, { place }) => sum + (place?.polygons.length ?? 0), 0);
      accepted.push({ tiles, applied, isMoved: existsSync(join(folder, 'applied', 'long.tiles')) });
      return [];
    },
    works: async () => {},
    waiting: async () => {},
  };
  let now = 0;
  const clock = { ...systemClock, monotonic: () => now };
  const feed = feedOf(folder, { intake, clock, log: silentLogger } as unknown as PolledFeedTools);
  const { signal } = new AbortController();
  await feed.poll(signal);
  expect(accepted).toEqual([]);
  now = 2000;
  await feed.poll(signal);
  expect(accepted).toEqual([
    { tiles: 20_000, applied: 0, isMoved: false },
    { tiles: 20_000, applied: 0, isMoved: false },
    { tiles: 10_000, applied: 1, isMoved: false },
  ]);
  expect(existsSync(join(folder, 'applied', 'long.tiles'))).toBe(true);
});
