import { join } from 'node:path';
import type { StoreSettings } from '../config/driver-schemas.ts';
import type { Settings } from '../config/settings.ts';
import type { StoreDescription } from '../http/rest/blob-stores.ts';
import type { Clock } from '../lib/clock.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Logger } from '../lib/logger.ts';
import { openBundleStore } from '../storage/bundle/bundle-store.ts';
import { guardFreeSpace } from '../storage/guard-free-space.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import type { TileStore } from '../storage/tile-store.ts';

const STORES_FOLDER = 'stores';

interface StoreTools {
  readonly log: Logger;
  readonly clock: Clock;
}

/** Every store that is declared, by its name. `readOnly`: this process only reads tiles from them. */
export async function openStores(
  settings: Pick<Settings, 'stores' | 'data'>,
  tools: StoreTools & { readonly readOnly: boolean },
  open: ClosingStack,
): Promise<ReadonlyMap<string, TileStore>> {
  const stores = new Map<string, TileStore>();
  for (const [name, store] of Object.entries(settings.stores)) {
    const root = join(settings.data, STORES_FOLDER, name);
    stores.set(name, open.use(await openStore(store, { root, ...tools })));
  }
  return stores;
}

/** For whoever looks from outside: no secret. */
export function describeStores({
  stores,
  data,
}: Pick<Settings, 'stores' | 'data'>): readonly StoreDescription[] {
  return Object.entries(stores).map(([name, store]) => ({
    name,
    type: store.type,
    folder: store.type === 'memory' ? null : join(data, STORES_FOLDER, name),
    options: {},
  }));
}

async function openStore(
  store: StoreSettings,
  tools: StoreTools & { readonly root: string; readonly readOnly: boolean },
): Promise<TileStore> {
  if (store.type === 'memory') return createMemoryStore(store, tools.clock);
  const bundles = await openBundleStore(store, tools);
  return tools.readOnly
    ? bundles
    : guardFreeSpace(bundles, { minFreePercent: store.minFreePercent, ...tools });
}
