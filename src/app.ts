import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access as accessFile, constants, mkdir, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type Accounts, openAccounts } from './access/open-accounts.ts';
import { warnOfOpenFolder } from './access/warn-of-open-folder.ts';
import { readCapabilities } from './app/import-settings.ts';
import { openPreviews } from './app/open-previews.ts';
import { databaseOf, openRoad, type RoadSurroundings } from './app/open-road.ts';
import { processSocketOf } from './app/process-socket.ts';
import { createCatalogEditor } from './catalog/catalog-editor.ts';
import { CATALOG_CHANGED } from './catalog/catalog-messages.ts';
import type { Settings } from './config/settings.ts';
import { readVersion } from './config/version.ts';
import { createBoundedCounters } from './db/bounded-counters.ts';
import { openDataFolderLock } from './db/data-folder-lock.ts';
import { openDatabase } from './db/open-database.ts';
import { errorCopier } from './domain/error-copier.ts';
import { TilewardenError } from './domain/errors.ts';
import { type Access, createAccountAccess, createLoopbackAccess } from './http/door/access.ts';
import { isLoopbackHost } from './http/door/trusted-proxies.ts';
import { openHttpServer } from './http/http-app.ts';
import { openEventLoopWatch } from './http/metrics/process-metrics.ts';
import { loadWebAssets, type WebAsset } from './http/pages/web-assets.ts';
import type { HttpProcesses } from './http/processes/http-processes.ts';
import { forgetEverywhere, primaryPart } from './http/processes/primary-part.ts';
import type { HttpServer } from './http/server.ts';
import { type Channel, createChannel } from './lib/channel.ts';
import { ClosingStack } from './lib/closing-stack.ts';
import { addCountsOf } from './pipeline/counter-feed.ts';
import { laterOf } from './pipeline/layer-activity.ts';
import { openQuotaService } from './quota/quota-service.ts';
import { openCutterThread } from './raster/open-cutter-thread.ts';
import { serveDesk } from './sources/upstream/desk-line.ts';
import { openUpstreamDesk } from './sources/upstream/open-upstream-desk.ts';
import { checkStore } from './storage/check-store.ts';
import { createInvalidation } from './tasks/invalidation.ts';
import { createMassTruncation } from './tasks/mass-truncation.ts';
import { openTaskService } from './tasks/open-task-service.ts';
import { openScheduleService } from './tasks/schedules/open-schedule-service.ts';
import { type TaskSettings, taskSettingsFor } from './tasks/task-settings.ts';

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

export interface AppSurroundings extends RoadSurroundings {
  /** The processes that answer HTTP; without them this one does. */
  readonly processes?: HttpProcesses;
  /** Starts a process that opens a worker app; without it tasks run in the server's own process. */
  readonly forkWorker?: () => ChildProcess;
}

/** Nobody but the owner and their group looks into the data folder. */
const DATA_FOLDER_MODE = 0o750;
/** Milliseconds until a worker that does not take up a change counts as hanging. */
const WORKER_PATIENCE = 10_000;
/** Milliseconds that a write waits at a quota. Clients do not wait for it, but what is made for them waits in memory. */
const SERVER_AT_THE_GATE = { patience: 500, withReserve: true };

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
  const { log, clock, random, forkWorker, processes } = surroundings;
  await mkdir(settings.data, { recursive: true, mode: DATA_FOLDER_MODE });
  await warnOfOpenFolder(settings.data, log);
  open.use(lockDataFolder(settings.data));
  const cutter = open.use(openCutterThread(log));
  const road = await openRoad(settings, surroundings, open, SERVER_AT_THE_GATE, cutter, (base) =>
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
  await lockDatabase(settings, surroundings, open);
  const { database, parameters, catalog, events, desk } = road;
  const pipeline = processes ? forgetEverywhere(road.pipeline, events, processes) : road.pipeline;
  const { pipelineCounts, activity, blankAreas, blankSuspects } = road;
  const { entries, declared, reader } = road.documents;
  const workers = new Set<{ readonly process: ChildProcess; readonly channel: Channel }>();
  const forkSharing =
    forkWorker &&
    (() => {
      const worker = forkWorker();
      const channel = createChannel(worker, errorCopier);
      serveDesk(desk, channel);
      addCountsOf(channel, { counters: pipelineCounts, activity, suspects: blankSuspects });
      const forked = { process: worker, channel };
      workers.add(forked);
      channel.closed.addEventListener('abort', () => workers.delete(forked));
      return forked;
    });
  const tasks = open.use(
    await openTaskService({
      database,
      catalog,
      pipeline,
      events,
      settings: taskSettings(settings),
      ...(forkSharing && { forkWorker: forkSharing }),
      ...(processes && { forgottenByAll: processes.settle }),
      clock,
      random,
      log,
    }),
  );
  const massTruncation = createMassTruncation({ catalog, parameters, pipeline, tasks, events, clock });
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
  /** One that does not answer in time is ended, and another takes its place. */
  const announce = async () => {
    processes?.catalogChanged();
    await Promise.all(
      [...workers].map(({ process: worker, channel }) =>
        channel
          .ask(CATALOG_CHANGED, null, AbortSignal.timeout(WORKER_PATIENCE))
          .catch(() => void worker.kill('SIGKILL')),
      ),
    );
    await processes?.settle();
  };
  const editor = createCatalogEditor({
    ...{ catalog, entries, declared, reader, parameters, events, clock, announce },
    gridSetDocuments: settings.gridSetDocuments,
    async removed(layer, by) {
      await tasks.cancel({ layer, states: ['pending', 'running', 'paused'] }, by);
      for (const { id } of await schedules.list(layer)) await schedules.remove(id);
      const { layerQuotas } = await quota.settings.read();
      const others = layerQuotas.filter((quota) => quota.layer !== layer);
      if (others.length < layerQuotas.length) await quota.settings.change({ layerQuotas: others });
    },
  });
  await editor.finish();
  const previews = open.use(openPreviews({ catalog, reader, pipeline, openSource: road.outside.openSource }));
  const imports = {
    readService: (address: string, only: readonly string[] | null, signal: AbortSignal) =>
      readCapabilities(address, only, road.outside.upstreams, signal),
    previewLayer: previews.layer,
    previewTile: previews.tile,
  };
  const readiness = async () => {
    await accessFile(settings.data, constants.W_OK);
    await database.query.selectNoFrom((statement) => statement.lit(1).as('one')).execute();
    await Promise.all([...stores.values()].map(checkStore));
  };
  const assets = await loadPages();
  const accounts = open.use(openAccounts({ database, dataFolder: settings.data, clock, log }));
  const { access, initialPassword } = await openDoor(settings, accounts);
  const parts = {
    catalog,
    editor,
    imports,
    pipeline,
    tasks,
    schedules,
    massTruncation,
    invalidation,
    quota,
    accounts,
  };
  const about = { version: readVersion(), startedAt: clock.now() };
  const eventLoop = open.use(openEventLoopWatch());
  const metrics = { pipeline, pipelineCounts, upstreams: desk.report, eventLoop };
  const layerState = (name: string) => {
    const state = activity.of(name);
    return { ...state, changedAt: laterOf(state.changedAt, quota.changedAt(name)) };
  };
  const blanks = { blankAreas, blankSuspects };
  const deps = { ...parts, ...blanks, layerState, about, metrics, readiness, assets, access, clock, log };
  if (!processes) return { server: open.use(await openHttpServer(deps, settings.server)), initialPassword };
  const socketPath = processSocketOf(settings);
  await rm(socketPath, { force: true });
  const inner = { ...settings.server, tls: null, socketPath };
  const server = open.use(await openHttpServer({ ...deps, settled: processes.settle }, inner));
  processes.serve(primaryPart({ catalog, entries, pipeline, events, access, count: server.count }));
  return { server, initialPassword };
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

function lockDataFolder(folder: string): { close(): void } {
  const lock = openDataFolderLock(folder);
  if (lock) return lock;
  throw new TilewardenError(
    'data-folder-in-use',
    `The data folder ${folder} is in use by another Tilewarden server. Stop that one, or choose another folder with --data.`,
  );
}

/** What one server removes from its own disk another would go on serving from its own. */
async function lockDatabase(settings: Settings, { clock, log }: AppSurroundings, open: ClosingStack) {
  if (!settings.database) return;
  const { openServerLock } = await import('./db/postgres/server-lock.ts');
  const lock = await openServerLock({ location: settings.database, clock, log });
  if (!lock) {
    throw new TilewardenError(
      'config-invalid',
      'The database is in use by another Tilewarden server, and the tile stores of this one lie on its own machine: each server would serve tiles that the other has removed. Stop the other server, or choose another database with --database.',
    );
  }
  open.use(lock);
}

/** The build puts the pages beside this file; the sources alone have none. */
async function loadPages(): Promise<readonly WebAsset[]> {
  const folder = fileURLToPath(new URL('./web', import.meta.url));
  return existsSync(folder) ? loadWebAssets(folder) : [];
}
