import { join } from 'node:path';
import type { StoreSettings } from '../config/driver-schemas.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../db/database.ts';
import type { MetatileSize } from '../domain/metatile.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { StoreDescription } from '../http/route-deps.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { type Random, systemRandom } from '../lib/random.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { openBundleStore } from '../storage/bundle/bundle-store.ts';
import { guardFreeSpace } from '../storage/guard-free-space.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import type { Outage, TileStore } from '../storage/tile-store.ts';

const STORES_FOLDER = 'stores';
const USUAL_SHAPE: MetatileSize = { columns: 4, rows: 4 };

export interface StoreTools extends Surroundings {
  readonly random?: Random;
  /** Null: this process has none, and asks another one for the tiles of stores that need it. */
  readonly database: Database | null;
  readonly readOnly: boolean;
  /** How tiles of a new tile set are made, so that a store may keep those together. */
  readonly shapeOf?: (set: TileSetKey) => MetatileSize;
  /** Whether this process removes what nobody needs from stores that several machines share. */
  readonly sweeps?: () => boolean;
  /** What is known of the database while it is away. */
  readonly outage?: Outage;
}

export async function openStores(
  settings: Pick<Settings, 'stores' | 'data'>,
  tools: StoreTools,
  open: ClosingStack,
): Promise<ReadonlyMap<string, TileStore>> {
  const stores = new Map<string, TileStore>();
  for (const [name, store] of Object.entries(settings.stores)) {
    const root = join(settings.data, STORES_FOLDER, name);
    stores.set(name, open.use(await openStore(store, { name, root, ...tools })));
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
    folder: store.type === 'bundle' ? join(data, STORES_FOLDER, name) : null,
    options: store.type === 's3' ? bucketOf(store) : {},
  }));
}

function bucketOf({ bucket, prefix, endpoint }: Extract<StoreSettings, { type: 's3' }>) {
  return { bucket, ...(prefix && { prefix }), ...(endpoint && { endpoint }) };
}

/** For processes that answer no tiles. */
export function withoutCaches(stores: Settings['stores']): Settings['stores'] {
  const bare = ({ ...store }: StoreSettings) => {
    if (store.type === 's3') delete store.cache;
    return store;
  };
  return Object.fromEntries(Object.entries(stores).map(([name, store]) => [name, bare(store)]));
}

async function openStore(
  store: StoreSettings,
  tools: StoreTools & { readonly name: string; readonly root: string },
): Promise<TileStore> {
  if (store.type === 'memory') return createMemoryStore(store, tools.clock);
  if (store.type === 's3') return openShared(store, tools);
  return openBundles(store, tools);
}

async function openBundles(
  store: Extract<StoreSettings, { type: 'bundle' }>,
  tools: StoreTools & { readonly root: string },
): Promise<TileStore> {
  const bundles = await openBundleStore(store, tools);
  return tools.readOnly
    ? bundles
    : guardFreeSpace(bundles, { minFreePercent: store.minFreePercent, ...tools });
}

async function openShared(
  store: Extract<StoreSettings, { type: 's3' }>,
  { database, readOnly, root, ...tools }: StoreTools & { readonly name: string; readonly root: string },
): Promise<TileStore> {
  // Nothing is ever in it, so that everything is asked of the process that has the database.
  if (!database) return createMemoryStore({ type: 'memory' }, tools.clock);
  const { openS3Store } = await import('../storage/s3/s3-store.ts');
  const usual = { random: systemRandom, shapeOf: () => USUAL_SHAPE, sweeps: () => !readOnly };
  if (!store.cache || readOnly) return openS3Store(store, { ...usual, ...tools, database });
  const { bundleStoreOptions } = await import('../storage/bundle/bundle-store-options.ts');
  const copies = await openBundles(bundleStoreOptions.parse({ type: 'bundle' }), {
    ...tools,
    database,
    readOnly,
    root,
  });
  const shared = await openS3Store(store, { ...usual, ...tools, database, copies }).catch(
    async (error: unknown) => {
      await copies.close();
      throw error;
    },
  );
  const close = async () => {
    await shared.close();
    await copies.close();
  };
  return { ...shared, close };
}
