/** Commands that work on a data folder, whether or not a server is running on it. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { z } from 'zod';
import { type Accounts, openAccounts } from '../access/open-accounts.ts';
import { openCatalog } from '../catalog/catalog.ts';
import { createCatalogEntries } from '../catalog/catalog-entries.ts';
import { DeclaredEntries } from '../catalog/declared-entries.ts';
import { restoreTileRecords } from '../catalog/tile-records.ts';
import { databaseOf, documentReaderOf } from '../config/node-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { openDatabase } from '../db/open-database.ts';
import { copySqlite } from '../db/sqlite/copy-sqlite.ts';
import { VISITS_PER_TURN } from '../domain/area-cover.ts';
import { misconfigured, TilewardenError } from '../domain/errors.ts';
import type { ExportOptions, ExportResult } from '../export/export-tiles.ts';
import { withTaskShape } from '../http/api/areas.ts';
import { checkBody } from '../http/api/read-body.ts';
import { refuseUnknownNames, taskDraftOf } from '../http/api/task-document.ts';
import { NAMED_AREA_FIELDS } from '../http/api/values.ts';
import { type ClosingStack, opened, whileOpen } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import { makeFolder } from '../lib/make-folder.ts';
import { systemRandom } from '../lib/random.ts';
import { createPace } from '../lib/yielding.ts';
import { isReadyMade, type SourceSettings } from '../sources/drivers.ts';
import { type CopyOptions, type CopyResult, copyTiles } from '../storage/copy-tiles.ts';
import { driverOf, typesOf } from '../storage/drivers.ts';
import { openStores, storeFolder, withoutCaches } from '../storage/open-stores.ts';
import type { BackupResult, RebuildResult, RebuildTools } from '../storage/store-driver.ts';
import { exportPart, exportTo } from '../tasks/exporter.ts';
import { planTask } from '../tasks/plan-task.ts';
import { openDataFolder } from './data-folder.ts';

export { changesSql } from '../changes/feeds/changes-sql.ts';

/** Stores and catalog for commands that need no source. */
async function openCache(
  settings: Settings,
  tools: Env & { readonly readOnly: boolean },
  open: ClosingStack,
) {
  const { log, clock, readOnly } = tools;
  const location = existingDatabase(settings);
  const database = open.use(await openDatabase({ location, clock, log }));
  const bare = { ...settings, stores: withoutCaches(settings.stores) };
  // `sweeps`: servers remove unused objects of a store, commands do not.
  const storeTools = { log, clock, random: systemRandom, database, readOnly, sweeps: () => false };
  const stores = await openStores(bare, storeTools, open);
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

function existingDatabase(settings: Settings): string {
  const location = databaseOf(settings);
  if (settings.database !== null || existsSync(location)) return location;
  throw misconfigured(`${settings.data} is not the data folder of a server; give it with --data.`);
}

type Migration = Omit<CopyOptions, 'from' | 'to'> & { readonly from: string; readonly to: string };

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

/** Rebuilds the index of a store from its files or its object store. */
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
    // The index of a shared store is lost with the database, and so are the tile records. Beside the index of a local
    // store they are still there, and incarnations that they do not name must not come back.
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

/** The copied database has password hashes. */
const FOLDER_MODE = 0o700;

/**
 * Copies the database (not a PostgreSQL) and the local stores of a data folder, while a server runs or not. The
 * database is first: the stores then reflect every removal that it records. `target` appears when all is on the disk.
 */
export async function backUp(settings: Settings, target: string, signal: AbortSignal): Promise<BackupResult> {
  const { data, database, stores } = settings;
  if (existsSync(target)) throw misconfigured(`${target} exists; name a folder that does not.`);
  const location = existingDatabase(settings);
  const making = `${target}.part`;
  rmSync(making, { recursive: true, force: true });
  makeFolder(making, FOLDER_MODE);
  try {
    if (database === null) copySqlite(location, databaseOf({ ...settings, data: making }));
    const sums = { files: 0, bytes: 0 };
    for (const [name, store] of Object.entries(stores)) {
      const tools = {
        root: storeFolder({ data }, name),
        target: storeFolder({ data: making }, name),
        signal,
      };
      const result = existsSync(tools.root) ? await driverOf(store).backUp?.(tools) : null;
      sums.files += result?.files ?? 0;
      sums.bytes += result?.bytes ?? 0;
    }
    renameSync(making, target);
    return sums;
  } catch (error) {
    rmSync(making, { recursive: true, force: true });
    throw error;
  }
}

type Order = Parameters<typeof taskDraftOf>[0] & { readonly layer: string };

/** Copies the cached tiles of a tile set into a file. `geoJson`: fields `area` and `areaCrs` of a task, unchecked. */
export function exportLayer(
  settings: Settings,
  work: Order & Pick<ExportOptions, 'target' | 'signal' | 'onProgress'> & { readonly geoJson: object },
  tools: Env,
): Promise<ExportResult> {
  return whileOpen(async (open) => {
    const { geoJson, target, signal, onProgress, layer, ...order } = work;
    const named = checkBody(geoJson, z.strictObject(NAMED_AREA_FIELDS));
    const { catalog } = await openCache(settings, { ...tools, readOnly: true }, open);
    const { areas } = settings;
    const drawn = await withTaskShape(layer, { ...order, ...named }, { areas, catalog });
    const archive = { type: 'mbtiles', parameters: {} } as const;
    const draft = { layer, archive, ...taskDraftOf(drawn) };
    refuseUnknownNames(catalog, draft);
    const pace = createPace(VISITS_PER_TURN);
    const planned = await planTask(draft, { layer: (name) => catalog.layer(name), maxThreadCount: 1, pace });
    // The database has no tile set of this declaration.
    if (planned.tiles.bypass)
      throw misconfigured(
        `The server of this data folder has another declaration of layer ${layer}, and no tiles of this one: give the server's configuration with --config.`,
      );
    const part = exportPart(planned.tiles, planned.request, planned.cover);
    return exportTo(target, planned.tiles, { ...part, signal, onProgress });
  });
}

export async function openAccountsApp(settings: Settings, { clock, log }: Env): Promise<Accounts> {
  if (!existsSync(settings.data)) {
    throw misconfigured(`There is no data folder ${settings.data}; see --data.`);
  }
  return opened(async (open) => {
    const database = open.use(await openDatabase({ location: databaseOf(settings), clock, log }));
    return open.use(openAccounts({ database, dataFolder: settings.data, clock, log }));
  });
}
