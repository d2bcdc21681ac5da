import { describe, expect, it } from 'vitest';
import { TilewardenError } from '../domain/errors.ts';
import { checkStore } from './check-store.ts';
import { createMemoryStore, memoryStoreOptions } from './segments/memory-store.ts';
import type { Store } from './store.ts';

const store = () => createMemoryStore(memoryStoreOptions.parse({ type: 'memory' }));

describe('checking a store', () => {
  it('a store check passes on a store that writes and reads, every time, and leaves no layer behind', async () => {
    const sound = store();
    await checkStore(sound);
    await checkStore(sound);
    expect((await sound.usage()).levels).toEqual([]);
  });

  it('a store check passes on a full disk, because tiles are still served', async () => {
    const full = {
      ...store(),
      mark: () => Promise.reject(new TilewardenError('store-full', 'The disk is full.')),
    };
    await expect(checkStore(full)).resolves.toBeUndefined();
  });

  it('a store check fails when writing fails', async () => {
    const broken = {
      ...store(),
      mark: () => Promise.reject(new TilewardenError('store-failed', 'The tile store failed.')),
    };
    await expect(checkStore(broken)).rejects.toMatchObject({ code: 'store-failed' });
  });

  it('a store check fails when the written tile cannot be read back', async () => {
    const forgetful = { ...store(), marks: (async () => 0) as unknown as Store['marks'] };
    await expect(checkStore(forgetful)).rejects.toMatchObject({ code: 'store-failed' });
  });
});
