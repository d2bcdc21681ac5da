import { join } from 'node:path';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Count } from '../lib/counters.ts';
import { driverOf, openStore, type StoreSettings } from './drivers.ts';
import type { Store } from './store.ts';
import type { StoreTools } from './store-driver.ts';

interface StoresSettings {
  /** The data folder. */
  readonly data: string;
  readonly stores: Readonly<Record<string, StoreSettings>>;
}

const STORES_FOLDER = 'stores';

export async function openStores(
  settings: StoresSettings,
  tools: Omit<StoreTools, 'name' | 'root' | 'openCopies'>,
  open: ClosingStack,
): Promise<ReadonlyMap<string, Store>> {
  const stores = new Map<string, Store>();
  for (const [name, store] of Object.entries(settings.stores)) {
    const root = storeFolder(settings, name);
    stores.set(name, open.use(await openStore(store, { ...tools, name, root })));
  }
  return stores;
}

export function storeFolder({ data }: Pick<StoresSettings, 'data'>, name: string): string {
  return join(data, STORES_FOLDER, name);
}

/** The stores as clients may see them, without secrets. */
export function describeStores(settings: StoresSettings) {
  return Object.entries(settings.stores).map(([name, store]) => {
    const { place, shown, geowebcacheName } = driverOf(store);
    const folder = place === 'disk' ? storeFolder(settings, name) : null;
    const values = new Map(Object.entries(store));
    const options = shown.flatMap((option) => (values.get(option) ? [[option, values.get(option)]] : []));
    return { name, kind: geowebcacheName, folder, options: Object.fromEntries(options) };
  });
}

/** The settings without copies on disk (`cache`), for processes that serve no tiles. */
export function withoutCaches(stores: StoresSettings['stores']): StoresSettings['stores'] {
  const bare = ({ ...store }: StoreSettings) => {
    if ('cache' in store) delete store.cache;
    return store;
  };
  return Object.fromEntries(Object.entries(stores).map(([name, store]) => [name, bare(store)]));
}

/** Requests to object stores since the last call. */
export function* takeStoreRequests(stores: ReadonlyMap<string, Store>): Generator<Count> {
  for (const [store, { takeRequests }] of stores) {
    for (const count of takeRequests?.() ?? []) yield { ...count, labels: { store, ...count.labels } };
  }
}
