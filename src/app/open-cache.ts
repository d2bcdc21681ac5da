import { existsSync } from 'node:fs';
import { openCatalog } from '../catalog/catalog.ts';
import { createCatalogEntries } from '../catalog/catalog-entries.ts';
import { DeclaredEntries } from '../catalog/declared-entries.ts';
import { restoreTileRecords } from '../catalog/tile-records.ts';
import { documentReaderOf } from '../config/load-document-reader.ts';
import type { Settings } from '../config/settings.ts';
import { openDatabase } from '../db/open-database.ts';
import { misconfigured, TilewardenError } from '../domain/errors.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import { systemRandom } from '../lib/random.ts';
import { isReadyMade, type SourceSettings } from '../sources/drivers.ts';
import { type CopyOptions, type CopyResult, copyTiles } from '../storage/copy-tiles.ts';
import { driverOf, typesOf } from '../storage/drivers.ts';
import type { RebuildResult, RebuildTools } from '../storage/store-driver.ts';
import { openDataFolder } from './data-folder.ts';
import { openStores, storeFolder, withoutCaches } from './open-stores.ts';
import { databaseOf } from './open-tile-services.ts';
import { whileOpen } from './opened.ts';

/** Stores and catalog for commands that need no source, also while a server runs on the data folder. */
export async function openCache(
  settings: Settings,
  tools: Env & { readonly readOnly: boolean },
  open: ClosingStack,
) {
  const { log, clock, readOnly } = tools;
  const location = databaseOf(settings);
  if (settings.database === null && !existsSync(location)) {
    throw misconfigured(`${settings.data} is not the data folder of a server; give it with --data.`);
  }
  const database = open.use(await openDatabase({ location, clock, log }));
  const stores = await openStores(
    { ...settings, stores: withoutCaches(settings.stores) },
    {
      log,
      clock,
      database,
      readOnly,
      sweeps: () => false,
    },
    open,
  );
  const { layers, gridSets } = settings;
  const openSource = (source: SourceSettings) => ({
    maxMetatile: isReadyMade(source) ? { columns: 1, rows: 1 } : null,
    fetch: async (): Promise<never> => {
      throw new TilewardenError('source-unavailable', 'This command asks no source.');
    },
    async close() {},
  });
  const catalog = open.use(openCatalog({ layers, gridSets, stores, openSource, clock, log }));
  const entries = createCatalogEntries(database, clock);
  const reader = documentReaderOf(settings);
  await new DeclaredEntries({ entries, catalog, reader, log }).refresh();
  return { database, catalog, stores };
}

export type Migration = Omit<CopyOptions, 'from' | 'to'> & { readonly from: string; readonly to: string };

export async function migrateStore(
  settings: Settings,
  { from, to, ...order }: Migration,
  tools: Env,
): Promise<CopyResult> {
  for (const name of [from, to]) checkStoreName(name, settings);
  if (from === to) throw misconfigured(`${from} cannot be copied into itself.`);
  return whileOpen(async (open) => {
    const { stores } = await openCache(settings, { ...tools, readOnly: false }, open);
    const [source, target] = [stores.get(from), stores.get(to)];
    if (!source || !target) throw misconfigured(`The stores ${from} and ${to} are not open.`);
    return copyTiles({ ...order, from: source, to: target });
  });
}

function checkStoreName(name: string, { stores }: Settings): void {
  const store = stores[name];
  if (!store) throw misconfigured(`There is no store ${name}; there are ${Object.keys(stores).join(', ')}.`);
  if (driverOf(store).place === 'memory')
    throw misconfigured(`The store ${name} is in the memory of a server; it cannot be copied.`);
}

/** Lists the tiles of a store again from its files or its object store. */
export async function rebuildIndexOf(
  settings: Settings,
  name: string,
  tools: Omit<RebuildTools, 'name' | 'root' | 'database' | 'random'>,
): Promise<RebuildResult> {
  const store = settings.stores[name];
  const driver = store && driverOf(store);
  if (!store || !driver?.rebuildIndex) throw misconfigured(noSuchIndex(settings, name));
  const { rebuildIndex, place } = driver;
  return whileOpen(async (open) => {
    if (place === 'disk') await openDataFolder(settings.data, tools.log, open);
    const database = open.use(await openDatabase({ location: databaseOf(settings), ...tools }));
    const root = storeFolder(settings, name);
    const result = await rebuildIndex(store, { ...tools, name, root, database, random: systemRandom });
    // The database of a local store still has its records; those of unused incarnations must not come back.
    if (place === 'shared')
      await restoreTileRecords(createCatalogEntries(database, tools.clock), result.sets, tools.clock);
    return result;
  });
}

function noSuchIndex({ stores }: Settings, name: string): string {
  const known = Object.entries(stores).flatMap(([other, store]) =>
    driverOf(store).rebuildIndex ? other : [],
  );
  const which = known.length === 0 ? 'there is none' : `there are ${known.join(', ')}`;
  return `There is no store ${name} of the type ${typesOf('disk', 'shared')}; ${which}.`;
}
