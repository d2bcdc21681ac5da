import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../test/fixtures/clocks.ts';
import { type LogEntry, recordingLogger } from '../../test/fixtures/http-app.ts';
import { TilewardenError } from '../domain/errors.ts';
import { guardFreeSpace } from './guard-free-space.ts';
import { createMemoryStore } from './segments/memory-store.ts';
import type { Store } from './store.ts';

const SET = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const TILE = { x: 0, y: 0, bytes: Buffer.from('tile'), createdAt: 1 };
const PLENTY = { bsize: 4096, blocks: 1000, bavail: 500, files: 1000, ffree: 900 };

function openGuarded(changes: Partial<Store> = {}) {
  const clock = createVirtualClock();
  const entries: LogEntry[] = [];
  const disk = { room: PLENTY };
  const store = guardFreeSpace(
    { ...createMemoryStore({ type: 'memory' }), ...changes },
    {
      root: '/somewhere',
      minFreePercent: 2,
      clock,
      log: recordingLogger(entries),
      measure: async () => disk.room,
    },
  );
  const put = () => store.put(SET, 3, [TILE], 0);
  return { clock, entries, disk, store, put };
}

describe('a store whose disk is watched', () => {
  it.each([
    ['room', { ...PLENTY, bavail: 19 }],
    ['inodes', { ...PLENTY, ffree: 19 }],
  ])(
    'a store with too little %s takes no tiles, still serves, and recovers by itself',
    async (_what, low) => {
      const { clock, entries, disk, store, put } = openGuarded();
      await put();
      disk.room = low;
      clock.advance(1500);
      await expect(put()).rejects.toMatchObject({ code: 'store-full' });
      await expect(put()).rejects.toMatchObject({
        message: 'The disk of /somewhere is full: 1.9 % free, and minFreePercent keeps 2 % free.',
      });
      expect(await store.room?.()).toMatchObject({
        folder: '/somewhere',
        freePercent: 1.9,
        minFreePercent: 2,
        storing: false,
      });
      expect((await store.get(SET, { z: 3, x: 0, y: 0 }))?.bytes.toString()).toBe('tile');
      expect(
        await store.edit(SET, 3, { minX: 0, minY: 0, maxX: 9, maxY: 9 }, { type: 'remove' }),
      ).toMatchObject({
        tiles: 1,
      });
      disk.room = PLENTY;
      clock.advance(1500);
      expect(await put()).toMatchObject({ tiles: 1 });
      expect(await store.room?.()).toMatchObject({ freeBytes: 500 * 4096, freePercent: 50, storing: true });
      expect(entries.map(({ level }) => level)).toEqual(['warn', 'info']);
      expect(entries[0]?.message).toContain('/somewhere is full: 1.9 % free');
    },
  );

  it('a store whose disk is watched accepts a file system that counts no inodes', async () => {
    const { disk, put } = openGuarded();
    disk.room = { ...PLENTY, files: 0, ffree: 0 };
    expect(await put()).toMatchObject({ tiles: 1 });
  });

  it('a store whose disk is watched waits a while after the disk has refused a tile', async () => {
    let tries = 0;
    const { clock, put } = openGuarded({
      put: async () => {
        tries++;
        if (tries === 1) throw new TilewardenError('store-full', 'full');
        return { tiles: 1, bytes: 4 };
      },
    });
    await expect(put()).rejects.toMatchObject({ code: 'store-full' });
    await expect(put()).rejects.toMatchObject({ code: 'store-full' });
    expect(tries).toBe(1);
    clock.advance(2500);
    expect(await put()).toMatchObject({ tiles: 1 });
  });
});
