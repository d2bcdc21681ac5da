import { createMemoryStore } from './memory-store.ts';
import { type MemoryStoreOptions, memoryStoreOptions } from './memory-store-options.ts';

export const memoryDriver = {
  type: 'memory',
  options: memoryStoreOptions,
  place: 'memory',
  shown: [],
  geowebcacheName: 'MemoryBlobStore',
  open: async (options: MemoryStoreOptions) => createMemoryStore(options),
} as const;
