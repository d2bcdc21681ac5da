import type { StoreTools } from '../store-driver.ts';
import { createMemoryStore } from './memory-store.ts';
import { type MemoryStoreOptions, memoryStoreOptions } from './memory-store-options.ts';

export const memoryDriver = {
  type: 'memory',
  options: memoryStoreOptions,
  place: 'memory',
  shown: [],
  geowebcacheName: 'MemoryBlobStore',
  open: async (options: MemoryStoreOptions, { clock }: StoreTools) => createMemoryStore(options, clock),
} as const;
