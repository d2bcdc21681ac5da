import { guardFreeSpace } from '../guard-free-space.ts';
import type { StoreTools } from '../store-driver.ts';
import { type BundleStoreOptions, bundleStoreOptions } from './bundle-store-options.ts';

export const bundleDriver = {
  type: 'bundle',
  options: bundleStoreOptions,
  place: 'disk',
  shown: [],
  geowebcacheName: 'FileBlobStore',
  async open(options: BundleStoreOptions, tools: StoreTools) {
    const { openBundleStore } = await import('./bundle-store.ts');
    const bundles = await openBundleStore(options, tools);
    return tools.readOnly
      ? bundles
      : guardFreeSpace(bundles, { minFreePercent: options.minFreePercent, ...tools });
  },
} as const;
