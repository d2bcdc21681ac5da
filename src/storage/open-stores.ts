import { join } from 'node:path';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { systemRandom } from '../lib/random.ts';
import { driverOf, openStore, type StoreSettings } from './drivers.ts';
import type { Store } from './store.ts';
import type { StoreTools } from './store-driver.ts';

interface StoresSettings {
  /** The data folder. */
  readonly data: string;
  readonly stores: Readonly<Record<string, StoreSettings>>;
}

const STORES_FOLDER = 'stores';

type OpenTools = Omit<StoreTools, 'name' | 'root' | 'openCopies'>;
type Usual = 'random' | 'sweeps';

export async function openStores(
  settings: StoresSettings,
  given: Omit<OpenTools, Usual> & Partial<Pick<OpenTools, Usual>>,
  open: ClosingStack,
): Promise<ReadonlyMap<string, Store>> {
  const usual = { random: systemRandom, sweeps: () => !given.readOnly };
  const tools = { ...usual, ...given };
  const stores = new Map<string, Store>();
  for (const [name, store] of Object.entries(settings.stores)) {
    const root = storeFolder(settings, name);
    stores.set(name, open.use(await openStore(store, { name, root, ...tools })));
  }
  return stores;
}

export function storeFolder({ data }: Pick<StoresSettings, 'data'>, name: string): string {
  return join(data, STORES_FOLDER, name);
}

/** For clients: without secrets. */
export function describeStores(settings: StoresSettings) {
  return Object.entries(settings.stores).map(([name, store]) => {
    const { place, shown, geowebcacheName } = driverOf(store);
    const folder = place === 'disk' ? storeFolder(settings, name) : null;
    const values = new Map(Object.entries(store));
    const options = shown.flatMap((option) => (values.get(option) ? [[option, values.get(option)]] : []));
    return { name, kind: geowebcacheName, folder, options: Object.fromEntries(options) };
  });
}

/** For processes that answer no tiles. */
export function withoutCaches(stores: StoresSettings['stores']): StoresSettings['stores'] {
  const bare = ({ ...store }: StoreSettings) => {
    if ('cache' in store) delete store.cache;
    return store;
  };
  return Object.fromEntries(Object.entries(stores).map(([name, store]) => [name, bare(store)]));
}
