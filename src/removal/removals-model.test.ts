/**
 * Random histories of a cache: layers drawn from layers, former declarations, two processes with memory of their own on one
 * store, late sources, removals that overlap, that stop inside a step or whose answer is lost, a cleaner that is stopped,
 * clocks that jump, and backups that are made while tiles are written and restored later; on PostgreSQL also with lost answers
 * to any statement that changes something. A read that begins after a removal was acknowledged never shows an older picture,
 * nor one of another declaration.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { inLength, randomSeed } from '../../test/fixtures/length.ts';
import { describeOnMemoryObjects, losingStatements } from '../../test/fixtures/pack-stores.ts';
import { commands, restoredCommands } from '../../test/fixtures/removal-commands.ts';
import { History, type SharedStores } from '../../test/fixtures/removal-history.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { backUpSegments } from '../storage/segments/back-up-segments.ts';
import { openSegmentStore } from '../storage/segments/segment-store.ts';

const OPTIONS = { maxOpenSegments: 16, sweepBytesPerSecond: 2 ** 29 };

function obeysRemovals(
  where: string,
  shared: () => SharedStores,
  numRuns: number,
  histories = commands,
  losing: fc.Arbitrary<boolean> = fc.constant(false),
): void {
  it(`a read after an acknowledged removal shows no older picture, whatever came in between, ${where}`, () =>
    fc.assert(
      fc.asyncProperty(histories, losing, async (history, isLost) => {
        const cache = new History(shared());
        shared().isLosing = isLost;
        for (const command of history) await cache.run(command);
        await cache.end();
      }),
      { numRuns, seed: randomSeed() },
    ));
}

/** Two processes on one store in segments, which its backups can replace. */
async function openSegments(folder: string) {
  const root = join(folder, 'store');
  const open = () => openSegmentStore(OPTIONS, { root, log: silentLogger, clock: systemClock });
  let backups = 0;
  const shared = {
    isLosing: false,
    stores: [await open(), await open()],
    async backUp() {
      const target = join(folder, `backup-${++backups}`);
      await backUpSegments({ root, target, signal: new AbortController().signal });
      return async () => {
        for (const store of shared.stores) await store.close();
        rmSync(root, { recursive: true });
        cpSync(target, root, { recursive: true });
        shared.stores = [await open(), await open()];
      };
    },
  };
  return shared;
}

describe('removals in segments', () => {
  let folder: string;
  let shared: Awaited<ReturnType<typeof openSegments>>;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tilewarden-removals-'));
    shared = await openSegments(folder);
  });
  afterAll(async () => {
    for (const store of shared.stores) await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  obeysRemovals('in segments', () => shared, inLength(70, 3000));
  obeysRemovals('in segments that are restored', () => shared, inLength(5, 500), restoredCommands);
});

describeOnMemoryObjects('removals in PostgreSQL', (_, opened) => {
  let shared: SharedStores;
  let changes = 0;
  const loses = () => shared?.isLosing && ++changes % 3 === 0;
  beforeAll(async () => {
    const database = losingStatements(opened().database, loses);
    const stores = [await opened().open('model', { database }), await opened().open('model', { database })];
    shared = { stores, isLosing: false };
  });
  afterAll(async () => {
    for (const store of shared.stores) await store.close();
  });
  obeysRemovals('in PostgreSQL', () => shared, inLength(3, 3000), commands, fc.boolean());
});
