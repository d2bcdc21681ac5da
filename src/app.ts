import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access as accessFile, constants, mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Accounts, openAccounts } from './access/open-accounts.ts';
import { warnOfOpenFolder } from './access/warn-of-open-folder.ts';
import { createBlankAreas } from './catalog/blank-areas.ts';
import { openCatalog } from './catalog/catalog.ts';
import { openParameterBook } from './catalog/parameter-book.ts';
import type { SourceSettings, StoreSettings } from './config/driver-schemas.ts';
import type { Settings } from './config/settings.ts';
import { readVersion } from './config/version.ts';
import { createBoundedCounters } from './db/bounded-counters.ts';
import { openDataFolderLock } from './db/data-folder-lock.ts';
import type { Database } from './db/database.ts';
import { openDatabase } from './db/open-database.ts';
import { TilewardenError } from './domain/errors.ts';
import { createTileEvents } from './domain/tile-events.ts';
import { type ExportOrder, exportedPart } from './export/export-order.ts';
import { type ExportOptions, type ExportResult, exportTiles } from './export/export-tiles.ts';
import { type Access, createAccountAccess, createLoopbackAccess } from './http/door/access.ts';
import { isLoopbackHost } from './http/door/trusted-proxies.ts';
import { openEventLoopWatch } from './http/metrics/process-metrics.ts';
import { loadWebAssets, type WebAsset } from './http/pages/web-assets.ts';
import { type HttpServer, type HttpServerDeps, openHttpServer } from './http/server.ts';
import type { Clock } from './lib/clock.ts';
import { ClosingStack } from './lib/closing-stack.ts';
import type { Logger } from './lib/logger.ts';
import type { Random } from './lib/random.ts';
import { BlankSuspects } from './pipeline/blank-suspects.ts';
import { addCountsOf, type CountsChannel, openCounterFeed } from './pipeline/counter-feed.ts';
import { LayerActivity, laterOf } from './pipeline/layer-activity.ts';
import { createLayerReader } from './pipeline/layer-reader.ts';
import { openTilePipeline } from './pipeline/open-tile-pipeline.ts';
import { PipelineCounters } from './pipeline/pipeline-counters.ts';
import { createQuotaCredit } from './quota/quota-credit.ts';
import { QuotaGate, type QuotaGateOptions } from './quota/quota-gate.ts';
import { openQuotaService } from './quota/quota-service.ts';
import { openArchiveSource } from './sources/archive/archive-source.ts';
import { openLayerSource } from './sources/layer/layer-source.ts';
import type { LayerReader } from './sources/layer-reader.ts';
import type { TileSource } from './sources/tile-source.ts';
import { type DeskLineChannel, openDeskLine, serveDesk } from './sources/upstream/desk-line.ts';
import { openUpstreamDesk } from './sources/upstream/open-upstream-desk.ts';
import { openUpstreamClient, type UpstreamClient } from './sources/upstream/upstream-client.ts';
import type { UpstreamDesk } from './sources/upstream/upstream-desk.ts';
import { openWmsSource } from './sources/wms/wms-source.ts';
import { openWmtsSource } from './sources/wmts/wmts-source.ts';
import { openWorldSource } from './sources/world/world-source.ts';
import { openXyzSource } from './sources/xyz/xyz-source.ts';
import { openBundleStore } from './storage/bundle/bundle-store.ts';
import { checkStore } from './storage/check-store.ts';
import { guardFreeSpace } from './storage/guard-free-space.ts';
import { createMemoryStore } from './storage/memory/memory-store.ts';
import type { TileStore } from './storage/tile-store.ts';
import { createInvalidation } from './tasks/invalidation.ts';
import { createMassTruncation } from './tasks/mass-truncation.ts';
import { openTaskService } from './tasks/open-task-service.ts';
import { openScheduleService } from './tasks/schedules/open-schedule-service.ts';
import { type TaskSettings, taskSettingsFor } from './tasks/task-settings.ts';
import { openTaskWorker, type WorkerChannel } from './tasks/task-worker.ts';

export interface App {
  /** Where it listens, with a slash at the end. */
  readonly url: string;
  /** The first administrator's password, if one was made up at this start. */
  readonly initialPassword: { readonly password: string; readonly file: string } | null;
  /** Reads the files again that may be renewed while the server runs. */
  reload(): Promise<void>;
  /** Answers what is under way, then closes everything in reverse order. */
  close(): Promise<void>;
}

/** What a test must be able to hold. */
export interface AppSurroundings {
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** Starts a process that opens a worker app; without it tasks run in the server's own process. */
  readonly forkWorker?: () => ChildProcess;
}

export interface WorkerApp {
  /** Resolves when the server wants the worker to end and its work is handed back. */
  readonly stopped: Promise<void>;
  close(): Promise<void>;
}

/** Nobody but the owner and their group looks into the data folder. */
const DATA_FOLDER_MODE = 0o750;
const DATABASE_FILE = 'tilewarden.db';
const STORES_FOLDER = 'stores';
/** Milliseconds that a write waits at a quota. Clients do not wait for it, but what is made for them waits in memory. */
const SERVER_AT_THE_GATE = { patience: 500, withReserve: true };
const WORKER_AT_THE_GATE = { patience: 60_000, withReserve: false };

/** The one place that knows everything: opens, joins and starts the parts, and closes them in reverse order. */
export async function openApp(settings: Settings, surroundings: AppSurroundings): Promise<App> {
  const open = new ClosingStack();
  try {
    const { server, initialPassword } = await openParts(settings, surroundings, open);
    return {
      url: server.address.url,
      initialPassword,
      reload: () => server.reload(),
      close: () => open.close(),
    };
  } catch (error) {
    await open.close();
    throw error;
  }
}

/** A process that does tasks for the server which forked it; `channel` leads there. */
export async function openWorkerApp(
  settings: Settings,
  surroundings: AppSurroundings,
  channel: WorkerChannel & DeskLineChannel & CountsChannel,
): Promise<WorkerApp> {
  const open = new ClosingStack();
  try {
    // Tiles are not answered from here.
    const quiet = { ...settings, memoryTierBytes: 0 };
    const openDesk = () => openDeskLine(channel);
    const parts = await openRoad(quiet, surroundings, open, WORKER_AT_THE_GATE, openDesk);
    const counted = {
      counters: parts.pipelineCounts,
      activity: parts.activity,
      suspects: parts.blankSuspects,
    };
    open.use(openCounterFeed(counted, channel, surroundings.clock));
    const { stopped } = openTaskWorker({ ...parts, ...surroundings, channel });
    return { stopped, close: () => open.close() };
  } catch (error) {
    await open.close();
    throw error;
  }
}

function taskSettings(settings: Settings): TaskSettings {
  const usual = taskSettingsFor(availableParallelism());
  const { workers, maxThreads } = settings.tasks;
  // What one process keeps in its memory another cannot fill.
  const inMemory = Object.values(settings.stores).some((store) => store.type === 'memory');
  return {
    ...settings.tasks,
    workers: inMemory ? 0 : (workers ?? usual.workers),
    maxThreads: maxThreads ?? usual.maxThreads,
  };
}

async function openParts(
  settings: Settings,
  surroundings: AppSurroundings,
  open: ClosingStack,
): Promise<{ readonly server: HttpServer } & Pick<App, 'initialPassword'>> {
  const { log, clock, random, forkWorker } = surroundings;
  await mkdir(settings.data, { recursive: true, mode: DATA_FOLDER_MODE });
  await warnOfOpenFolder(settings.data, log);
  open.use(lockDataFolder(settings.data));
  const road = await openRoad(settings, surroundings, open, SERVER_AT_THE_GATE, (base) =>
    open.use(
      openUpstreamDesk({
        upstreams: settings.upstreams,
        book: createBoundedCounters(base),
        clock,
        random,
        log,
      }),
    ),
  );
  const { database, parameters, catalog, pipeline, events, desk } = road;
  const { pipelineCounts, activity, blankAreas, blankSuspects } = road;
  const forkSharing =
    forkWorker &&
    (() => {
      const worker = forkWorker();
      serveDesk(desk, worker);
      addCountsOf(worker, { counters: pipelineCounts, activity, suspects: blankSuspects });
      return worker;
    });
  const tasks = open.use(
    await openTaskService({
      database,
      catalog,
      pipeline,
      events,
      settings: taskSettings(settings),
      ...(forkSharing && { forkWorker: forkSharing }),
      clock,
      random,
      log,
    }),
  );
  const massTruncation = createMassTruncation({ catalog, parameters, tasks, events, clock });
  const stores = catalog.stores();
  const quota = open.use(await openQuotaService({ database, stores, parameters, events, clock, log }));
  const invalidation = createInvalidation({
    catalog,
    parameters,
    pipeline,
    tasks,
    usesOf: (page) => quota.frequencyOf(page),
    clock,
  });
  const schedules = open.use(
    await openScheduleService({ database, tasks, invalidation, declared: settings.schedules, clock, log }),
  );
  const readiness = async () => {
    await accessFile(settings.data, constants.W_OK);
    await database.query.selectNoFrom((statement) => statement.lit(1).as('one')).execute();
    await Promise.all([...stores.values()].map(checkStore));
  };
  const assets = await loadPages();
  const accounts = open.use(openAccounts({ database, dataFolder: settings.data, clock, log }));
  const { access, initialPassword } = await openDoor(settings, accounts);
  const parts = { catalog, pipeline, tasks, schedules, massTruncation, invalidation, quota, accounts };
  const about = { version: readVersion(), startedAt: clock.now() };
  const eventLoop = open.use(openEventLoopWatch());
  const metrics = { pipeline, pipelineCounts, upstreams: desk.report, eventLoop };
  const layerState = (name: string) => {
    const state = activity.of(name);
    return { ...state, changedAt: laterOf(state.changedAt, quota.changedAt(name)) };
  };
  const blanks = { blankAreas, blankSuspects };
  const deps = { ...parts, ...blanks, layerState, about, metrics, readiness, assets, access, clock, log };
  return { server: open.use(await listen(deps, settings)), initialPassword };
}

/** The accounts of a data folder, for the command line: a server may run on it or not. */
export async function openAccountsApp(
  settings: Settings,
  { log, clock }: Pick<AppSurroundings, 'log' | 'clock'>,
): Promise<Accounts> {
  if (!existsSync(settings.data)) {
    throw new TilewardenError('config-invalid', `There is no data folder ${settings.data}; see --data.`);
  }
  const database = await openDatabase({ location: databaseOf(settings), clock, log });
  const accounts = openAccounts({ database, dataFolder: settings.data, clock, log });
  return {
    ...accounts,
    async close() {
      await accounts.close();
      await database.close();
    },
  };
}

/** Copies what is cached of a tile set into a file. A server may run on the data folder or not. */
export async function exportLayer(
  settings: Settings,
  order: ExportOrder & Pick<ExportOptions, 'target' | 'signal' | 'onProgress'>,
  surroundings: Pick<AppSurroundings, 'log' | 'clock'>,
): Promise<ExportResult> {
  const open = new ClosingStack();
  try {
    const stores = await openStores(settings, surroundings, open, (store) => store);
    const { layers, gridSets } = settings;
    const openSource = () => {
      throw new TilewardenError('source-unavailable', 'An export asks no source.');
    };
    const catalog = open.use(openCatalog({ layers, gridSets, stores, openSource, log: surroundings.log }));
    const bound = catalog.layer(order.layer);
    if (!bound) throw new TilewardenError('layer-unknown', `There is no layer ${order.layer}.`);
    return await exportTiles({ ...order, store: bound.store, ...exportedPart(bound.layer, order) });
  } finally {
    await open.close();
  }
}

/** Who is let in, and the first administrator if there is none yet. */
async function openDoor(
  { access: { enabled, adminPassword }, server: { host } }: Settings,
  accounts: Accounts,
): Promise<{ readonly access: Access } & Pick<App, 'initialPassword'>> {
  if (!enabled) return { access: createLoopbackAccess(), initialPassword: null };
  const exposure = isLoopbackHost(host) ? 'loopback' : 'network';
  const password = await accounts.ensureAdministrator(adminPassword, exposure);
  return {
    access: createAccountAccess(accounts.authenticator),
    initialPassword: password === null ? null : { password, file: accounts.passwordFile },
  };
}

/** What it takes to make and keep tiles, in the server and in its workers. */
async function openRoad<Desk extends UpstreamDesk>(
  settings: Settings,
  surroundings: AppSurroundings,
  open: ClosingStack,
  atTheGate: Pick<QuotaGateOptions, 'patience' | 'withReserve'>,
  openDesk: (database: Database) => Desk,
) {
  const { log, clock, random } = surroundings;
  const database = open.use(await openDatabase({ location: databaseOf(settings), clock, log }));
  const gate = new QuotaGate({ credit: createQuotaCredit(database), clock, log, ...atTheGate });
  const stores = await openStores(settings, surroundings, open, (store) => gate.guard(store));
  const desk = openDesk(database);
  const upstreams = open.use(
    openUpstreamClient({
      userAgent: `Tilewarden/${readVersion()}`,
      upstreams: settings.upstreams,
      desk,
      clock,
      log,
    }),
  );
  // A source that draws from another layer needs the pipeline, which needs the catalog.
  let readLayer: LayerReader = () => null;
  const catalog = open.use(
    openCatalog({
      layers: settings.layers,
      gridSets: settings.gridSets,
      stores,
      openSource: (source) => openSource(source, upstreams, surroundings, (name) => readLayer(name)),
      log,
    }),
  );
  const { memoryTierBytes } = settings;
  const events = createTileEvents();
  const parameters = open.use(openParameterBook({ database, events, clock, log }));
  const pipelineCounts = new PipelineCounters();
  const activity = new LayerActivity(events, clock);
  const blankAreas = createBlankAreas(database, clock);
  const blankSuspects = new BlankSuspects(clock);
  const pipeline = open.use(
    openTilePipeline({
      events,
      clock,
      random,
      log,
      metrics: pipelineCounts,
      onFailure: (layer, error) => activity.failed(layer, error),
      blankAreas: (layer) => blankAreas.list(layer),
      blankSuspects,
      settings: { memoryTierBytes },
    }),
  );
  readLayer = createLayerReader(catalog, pipeline);
  // Closed before the pipeline, which waits for what is being stored.
  open.use(gate);
  const noted = { pipelineCounts, activity, blankAreas, blankSuspects };
  return { database, parameters, catalog, pipeline, events, desk, ...noted };
}

function databaseOf({ database, data }: Settings): string {
  return database ?? join(data, DATABASE_FILE);
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
  surroundings: Pick<AppSurroundings, 'log' | 'clock'>,
  open: ClosingStack,
  guard: (store: TileStore) => TileStore,
): Promise<ReadonlyMap<string, TileStore>> {
  const stores = new Map<string, TileStore>();
  for (const [name, store] of Object.entries(settings.stores)) {
    const root = join(settings.data, STORES_FOLDER, name);
    stores.set(name, guard(open.use(await openStore(store, root, surroundings))));
  }
  return stores;
}

async function openStore(
  store: StoreSettings,
  root: string,
  { log, clock }: Pick<AppSurroundings, 'log' | 'clock'>,
): Promise<TileStore> {
  if (store.type === 'memory') return createMemoryStore(store);
  const bundles = await openBundleStore(store, { root, log, clock });
  return guardFreeSpace(bundles, { root, minFreePercent: store.minFreePercent, clock, log });
}

function openSource(
  source: SourceSettings,
  upstreams: UpstreamClient,
  { log, clock }: AppSurroundings,
  readLayer: LayerReader,
): TileSource {
  if (source.type === 'layer') return openLayerSource(source, { readLayer });
  if (source.type === 'world') return openWorldSource(source, { logger: log });
  if (source.type === 'archive') return openArchiveSource(source, { upstream: upstreams, clock });
  if (source.type === 'wmts') return openWmtsSource(source, { upstream: upstreams, clock });
  if (source.type === 'xyz') return openXyzSource(source, { upstream: upstreams });
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
