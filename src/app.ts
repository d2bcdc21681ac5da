import { existsSync } from 'node:fs';
import { access, constants, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openCatalog } from './catalog/catalog.ts';
import type { SourceSettings, StoreSettings } from './config/driver-schemas.ts';
import type { Settings } from './config/settings.ts';
import { readVersion } from './config/version.ts';
import { openDataFolderLock } from './db/data-folder-lock.ts';
import { openDatabase } from './db/open-database.ts';
import { TilewardenError } from './domain/errors.ts';
import { createTileEvents } from './domain/tile-events.ts';
import { createLoopbackAccess } from './http/access.ts';
import { type HttpServer, type HttpServerDeps, openHttpServer } from './http/server.ts';
import { loadWebAssets, type WebAsset } from './http/web-assets.ts';
import type { Clock } from './lib/clock.ts';
import { ClosingStack } from './lib/closing-stack.ts';
import type { Logger } from './lib/logger.ts';
import type { Random } from './lib/random.ts';
import { openTilePipeline } from './pipeline/open-tile-pipeline.ts';
import type { TileSource } from './sources/tile-source.ts';
import { openUpstreamClient, type UpstreamClient } from './sources/upstream/upstream-client.ts';
import { openWmsSource } from './sources/wms/wms-source.ts';
import { openWorldSource } from './sources/world/world-source.ts';
import { openBundleStore } from './storage/bundle/bundle-store.ts';
import { createMemoryStore } from './storage/memory/memory-store.ts';
import type { TileStore } from './storage/tile-store.ts';

export interface App {
  /** Where it listens, with a slash at the end. */
  readonly url: string;
  /** Answers what is under way, then closes everything in reverse order. */
  close(): Promise<void>;
}

/** What a test must be able to hold. */
export interface AppSurroundings {
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
}

/** Nobody but the owner and their group looks into the data folder. */
const DATA_FOLDER_MODE = 0o750;
const DATABASE_FILE = 'tilewarden.db';
const STORES_FOLDER = 'stores';

/** The one place that knows everything: opens, joins and starts the parts, and closes them in reverse order. */
export async function openApp(settings: Settings, surroundings: AppSurroundings): Promise<App> {
  const open = new ClosingStack();
  try {
    const server = await openParts(settings, surroundings, open);
    return { url: server.address.url, close: () => open.close() };
  } catch (error) {
    await open.close();
    throw error;
  }
}

async function openParts(
  settings: Settings,
  surroundings: AppSurroundings,
  open: ClosingStack,
): Promise<HttpServer> {
  const { log, clock, random } = surroundings;
  await mkdir(settings.data, { recursive: true, mode: DATA_FOLDER_MODE });
  open.use(lockDataFolder(settings.data));
  const location = settings.database ?? join(settings.data, DATABASE_FILE);
  const database = open.use(await openDatabase({ location, clock, log }));
  const stores = await openStores(settings, surroundings, open);
  const upstreams = open.use(
    openUpstreamClient({
      userAgent: `Tilewarden/${readVersion()}`,
      upstreams: settings.upstreams,
      clock,
      log,
    }),
  );
  const catalog = open.use(
    openCatalog({
      layers: settings.layers,
      gridSets: settings.gridSets,
      stores,
      openSource: (source) => openSource(source, upstreams, surroundings),
      log,
    }),
  );
  const { memoryTierBytes } = settings;
  const events = createTileEvents();
  const pipeline = open.use(openTilePipeline({ events, clock, random, log, settings: { memoryTierBytes } }));
  const readiness = async () => {
    await access(settings.data, constants.W_OK);
    await database.query.selectNoFrom((statement) => statement.lit(1).as('one')).execute();
  };
  const assets = await loadPages();
  return open.use(
    await listen(
      { catalog, pipeline, readiness, assets, access: createLoopbackAccess(), clock, log },
      settings,
    ),
  );
}

function lockDataFolder(folder: string): { close(): void } {
  const lock = openDataFolderLock(folder);
  if (lock) return lock;
  throw new TilewardenError(
    'data-folder-in-use',
    `The data folder ${folder} is in use by another Tilewarden server. Stop that one, or choose another folder with --data.`,
  );
}

async function openStores(
  settings: Settings,
  surroundings: AppSurroundings,
  open: ClosingStack,
): Promise<ReadonlyMap<string, TileStore>> {
  const stores = new Map<string, TileStore>();
  for (const [name, store] of Object.entries(settings.stores)) {
    const root = join(settings.data, STORES_FOLDER, name);
    stores.set(name, open.use(await openStore(store, root, surroundings)));
  }
  return stores;
}

async function openStore(
  store: StoreSettings,
  root: string,
  { log, clock }: AppSurroundings,
): Promise<TileStore> {
  if (store.type === 'memory') return createMemoryStore(store);
  return openBundleStore(store, { root, log, clock });
}

function openSource(source: SourceSettings, upstreams: UpstreamClient, { log }: AppSurroundings): TileSource {
  if (source.type === 'world') return openWorldSource(source, { logger: log });
  return openWmsSource(source, { upstream: upstreams });
}

/** The build puts the pages beside this file; the sources alone have none. */
async function loadPages(): Promise<readonly WebAsset[]> {
  const folder = fileURLToPath(new URL('./web', import.meta.url));
  return existsSync(folder) ? loadWebAssets(folder) : [];
}

async function listen(deps: HttpServerDeps, { server }: Settings): Promise<HttpServer> {
  try {
    return await openHttpServer(deps, server);
  } catch (error) {
    throw explainListenFailure(error, server);
  }
}

function explainListenFailure(error: unknown, { host, port }: Settings['server']): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  const because: Record<string, string> = {
    EADDRINUSE: `Port ${port} on ${host} is taken by another program; choose another one with --port.`,
    EADDRNOTAVAIL: `${host} is no address of this machine; choose another one with --host.`,
    ENOTFOUND: `${host} is no address of this machine; choose another one with --host.`,
    EACCES: `Port ${port} may not be opened by this user; choose one above 1023 with --port.`,
  };
  const message = typeof code === 'string' ? because[code] : undefined;
  return message === undefined ? error : new TilewardenError('config-invalid', message, { cause: error });
}
