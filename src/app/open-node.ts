import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { warnOfOpenFolder } from '../access/open-accounts.ts';
import type { ReaderKeys } from '../access/open-reader-keys.ts';
import { createCatalogEditor } from '../catalog/catalog-editor.ts';
import { CATALOG_CHANGED, openServiceSettings, type ServiceSettings } from '../catalog/catalog-entries.ts';
import { layersAbove } from '../catalog/tile-fates.ts';
import { createTileRecords } from '../catalog/tile-records.ts';
import type { LoadedSettings } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import type { SettingsHandover } from '../config/settings-handover.ts';
import { createBoundedCounters } from '../db/bounded-counters.ts';
import { openDataFolderLock } from '../db/data-folder-lock.ts';
import type { Database } from '../db/database.ts';
import { lastId } from '../db/numbers.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { HttpProcesses } from '../http/processes/http-processes.ts';
import { createChannel } from '../lib/channel.ts';
import type { ForkedProcess } from '../lib/child-pool.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { openRepeater, repeat } from '../lib/repeat.ts';
import { createFlightClaims } from '../nodes/flight-claims.ts';
import { createHostNewsBook } from '../nodes/host-news-book.ts';
import type { NodeRole } from '../nodes/node-registry.ts';
import { createShareBook } from '../nodes/share-book.ts';
import { addCountsOf } from '../pipeline/counter-feed.ts';
import { openQuotaService } from '../quota/quota-service.ts';
import { openCutterThread } from '../raster/open-cutter-thread.ts';
import { serveDesk } from '../sources/upstream/desk-line.ts';
import { openUpstreamDesk } from '../sources/upstream/open-upstream-desk.ts';
import { driverOf } from '../storage/drivers.ts';
import type { Outage } from '../storage/tile-store.ts';
import { createInvalidation } from '../tasks/invalidation.ts';
import { openMarks } from '../tasks/marks.ts';
import { createMassTruncation } from '../tasks/mass-truncation.ts';
import { openTaskService } from '../tasks/open-task-service.ts';
import { openScheduleService } from '../tasks/schedules/open-schedule-service.ts';
import type { ScheduleDeclaration } from '../tasks/schedules/schedule.ts';
import { type TaskSettings, taskSettingsFor } from '../tasks/task-service.ts';
import { createExporter, exportFolder } from './exporter.ts';
import { followNodes, isShared, joinNodes } from './join-nodes.ts';
import { openOutgoing } from './open-outgoing.ts';
import { openRoad, type RoadSurroundings } from './open-road.ts';

export interface NodeSurroundings extends RoadSurroundings {
  /** The processes that answer HTTP; without them this one does. */
  readonly processes?: HttpProcesses;
  /** Starts a process that opens a task process app; without it tasks run in the node's own process. */
  readonly forkWorker?: () => ChildProcess;
}

/** Only the owner and the group may read the data folder. */
const DATA_FOLDER_MODE = 0o750;
/** Milliseconds until a worker that does not take up a change counts as hanging. */
const WORKER_PATIENCE = 10_000;
/** Milliseconds between looks for tiles that no declaration reaches: a change removes its own. */
const COLLECT_INTERVAL = 3_600_000;
/** Milliseconds between looks for files of exports that a crash has left. */
const TIDY_INTERVAL = 3_600_000;
/** Milliseconds that a write waits at a quota. Clients do not wait for it, but what is made for them waits in memory. */
const SERVER_AT_THE_GATE = { patience: 500, withReserve: true };

/** What a node is made of, whether or not it answers HTTP: opens, joins and starts the parts. */
export async function openNode(
  settings: Settings,
  surroundings: NodeSurroundings,
  roles: readonly NodeRole[],
  open: ClosingStack,
) {
  const { log, clock, random, forkWorker, processes } = surroundings;
  await mkdir(settings.data, { recursive: true, mode: DATA_FOLDER_MODE });
  await warnOfOpenFolder(settings.data, log);
  open.use(lockDataFolder(settings.data));
  const cutter = open.use(openCutterThread(log));
  let leads = () => false;
  const instance = randomUUID();
  const shared = isShared(settings);
  let known: Outage = { isAway: () => false, mayShow: async () => false };
  const outage: Outage = { isAway: () => known.isAway(), mayShow: () => known.mayShow() };
  const sharing = {
    ...surroundings,
    sweeps: () => leads(),
    outage,
    ...(shared && { claims: (base: Database) => createFlightClaims(base, instance, surroundings) }),
  };
  const road = await openRoad(settings, sharing, open, SERVER_AT_THE_GATE, cutter, (base) =>
    open.use(
      openUpstreamDesk({
        upstreams: settings.upstreams,
        book: createBoundedCounters(base),
        ...(shared && {
          shares: createShareBook(base, instance),
          news: createHostNewsBook(base, instance),
        }),
        clock,
        random,
        log,
      }),
    ),
  );
  const { database, parameters, catalog, events, desk } = road;
  const { registry, lead, ...membership } = await joinNodes(
    settings,
    database,
    surroundings,
    { instance, roles },
    open,
  );
  leads = membership.leads;
  const { entries, declared, admit } = road.documents;
  const reader = await road.documents.reader();
  const records = createTileRecords({ entries, catalog, clock });
  const redeclared = await records.declareAll();
  await declared.refresh();
  const workers = new Set<ForkedProcess>();
  const forkSharing =
    forkWorker &&
    !keepsInMemory(settings) &&
    (() => {
      const worker = forkWorker();
      const channel = createChannel(worker, errorCopier);
      serveDesk(desk, channel);
      addCountsOf(channel, road.tallies);
      const forked = { process: worker, channel };
      workers.add(forked);
      channel.closed.addEventListener('abort', () => workers.delete(forked));
      return forked;
    });
  const stores = catalog.stores();
  /** One that does not answer in time is ended, and another takes its place. */
  const announceHere = async (file: SettingsHandover | null = null) => {
    processes?.catalogChanged(file);
    await Promise.all(
      [...workers].map(({ process: worker, channel }) =>
        channel
          .ask(CATALOG_CHANGED, file, AbortSignal.timeout(WORKER_PATIENCE))
          .catch(() => void worker.kill('SIGKILL')),
      ),
    );
    await processes?.settle();
  };
  const service = await openServiceSettings(entries);
  const refreshCatalog = async () => {
    if (!(await declared.refresh())) return;
    await service.refresh();
    await announceHere();
  };
  let refreshKeys = async () => {};
  const following = await followNodes(
    {
      settings,
      database,
      stores,
      pipeline: road.pipeline,
      events,
      registry,
      refreshCatalog,
      refreshKeys: () => refreshKeys(),
      processes,
    },
    surroundings,
    open,
  );
  const { pipeline, news } = following;
  const obeyed = () => following.settled('changes');
  const outgoing = openOutgoing(settings, { road, lead, obeyed, clock, log }, open);
  const { deliveries, notifier, onFull, scheduleFailed } = outgoing;
  const settled = (what: 'counts' | 'changes') =>
    what === 'counts' ? following.settled(what) : deliveries.settle();
  known = news ?? known;
  /** With those that are drawn from them. */
  const outdate = async (layers: readonly string[]) => {
    const all = layers.length > 0 ? [...layers, ...(await layersAbove(catalog, layers))] : [];
    for (const layer of all) events.emit({ type: 'outdated', layer, places: null, at: clock.now() });
  };
  await outdate(redeclared);
  await mkdir(exportFolder(settings), { recursive: true });
  const exporter = createExporter({ settings, database, catalog, log });
  const tidying = { clock, log, pause: TIDY_INTERVAL, failure: 'could not remove files of former exports' };
  open.use(openRepeater(exporter.tidy, tidying));
  const tasks = open.use(
    await openTaskService({
      database,
      catalog,
      pipeline,
      exporter,
      events,
      settings: taskSettings(settings),
      lead,
      ...(forkSharing && { forkWorker: forkSharing }),
      forgottenByAll: () => settled('changes'),
      parameterSets: road.parameterSets,
      clock,
      random,
      log,
    }),
  );
  await outgoing.watch(tasks, stores, desk.report);
  const massTruncation = createMassTruncation({ catalog, parameters, pipeline, tasks, events, clock });
  const marks = open.use(
    openMarks({
      catalog,
      pipeline,
      forgottenByAll: () => settled('changes'),
      leads: () => leads(),
      clock,
      log,
    }),
  );
  const quota = open.use(
    await openQuotaService({ database, stores, parameters, events, lead, onFull, clock, log }),
  );
  const invalidation = createInvalidation({
    catalog,
    parameters,
    pipeline,
    tasks,
    usesOf: (page) => quota.frequencyOf(page),
    clock,
  });
  const schedules = open.use(
    await openScheduleService({
      database,
      tasks,
      invalidation: {
        async invalidateDraft(draft) {
          const marked = await invalidation.invalidateDraft(draft);
          await settled('changes');
          return marked;
        },
      },
      declared: settings.schedules,
      lead,
      onFailed: scheduleFailed,
      clock,
      log,
    }),
  );
  const announce = async () => {
    await announceHere();
    await news?.heardByAll();
  };
  let { gridSetDocuments } = settings;
  const sharedService: ServiceSettings = {
    ...service,
    get current() {
      return service.current;
    },
    async change(change, by) {
      await service.change(change, by);
      await news?.heardByAll();
    },
  };
  const editor = createCatalogEditor({
    catalog,
    entries,
    declared,
    reader,
    admit,
    parameters,
    records,
    log,
    announce,
    changed: outdate,
    gridSetDocuments: () => gridSetDocuments,
    belongings: async (query) => ({
      task: await lastId(query, 'tasks'),
      schedule: await lastId(query, 'schedules'),
    }),
    async clear(layer, { task, schedule }, by) {
      await tasks.cancel({ layers: [layer], upTo: task }, by);
      const left = (await schedules.list(layer)).filter(({ id }) => id <= schedule);
      for (const { id } of left) await schedules.remove(id);
      if (catalog.layer(layer)) return;
      const { layerQuotas } = await quota.settings.read();
      const others = layerQuotas.filter((quota) => quota.layer !== layer);
      if (others.length < layerQuotas.length) await quota.settings.change({ layerQuotas: others });
    },
  });
  await editor.finish((await registry.list()).length <= 1);
  const failure = 'tiles of former declarations could not be removed';
  const collecting = (signal: AbortSignal) => records.collectAll(signal);
  open.use(
    lead((signal) =>
      repeat(
        () => collecting(signal),
        { clock, log, pause: COLLECT_INTERVAL, failure, pauseFirst: true },
        signal,
      ),
    ),
  );
  let reloaded: readonly string[] = [];
  /** A file belongs to one node: the others have theirs. */
  const fileTaker = {
    async apply(next: Settings) {
      const other = await records.declareFixed(next.layers, next.gridSets);
      await declared.refresh();
      gridSetDocuments = next.gridSetDocuments;
      desk.setUpstreams(next.upstreams);
      const changed = road.takeUp(next);
      reloaded = [...new Set([...changed, ...other])];
      return changed;
    },
    async announce({ handover }: LoadedSettings) {
      await announceHere(handover);
      await outdate(reloaded);
    },
    schedule: (declaredNow: readonly ScheduleDeclaration[]) => schedules.takeOver(declaredNow),
  };
  return {
    road,
    pipeline,
    registry,
    stores,
    entries,
    news,
    settled,
    /** Keeps keys for readers in step with the other processes and nodes. */
    async followKeys(keys: ReaderKeys): Promise<void> {
      if (shared) keys.shareRates();
      refreshKeys = keys.refresh;
      await keys.refresh();
      keys.onChange((change) => {
        following.changed();
        processes?.keysChanged(change);
      });
    },
    notifier,
    fileTaker,
    lead,
    leads,
    marks,
    parts: {
      catalog,
      editor,
      pipeline,
      tasks,
      schedules,
      massTruncation,
      invalidation,
      quota,
      exports: exporter,
      deliveries,
      service: sharedService,
    },
  };
}

/** What one process keeps in its memory another cannot fill. */
export function keepsInMemory({ stores }: Pick<Settings, 'stores'>): boolean {
  return Object.values(stores).some((store) => driverOf(store).place === 'memory');
}

export function taskSettings({ tasks }: Settings): TaskSettings {
  const usual = taskSettingsFor(availableParallelism());
  const { workers, maxThreads } = tasks;
  return { ...tasks, workers: workers ?? usual.workers, maxThreads: maxThreads ?? usual.maxThreads };
}

function lockDataFolder(folder: string): { close(): void } {
  const lock = openDataFolderLock(folder);
  if (lock) return lock;
  throw new TilewardenError(
    'data-folder-in-use',
    `The data folder ${folder} is in use by another Tilewarden server. Stop that one, or choose another folder with --data.`,
  );
}
