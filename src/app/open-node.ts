import type { ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { warnOfOpenFolder } from '../access/open-accounts.ts';
import type { Settings } from '../config/settings.ts';
import { createBoundedCounters } from '../db/bounded-counters.ts';
import { openDataFolderLock } from '../db/data-folder-lock.ts';
import type { Database } from '../db/database.ts';
import { openDatabase } from '../db/open-database.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { HttpProcesses } from '../http/processes/http-processes.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { createFlightClaims } from '../nodes/flight-claims.ts';
import { createHostNewsBook } from '../nodes/host-news-book.ts';
import type { NodeRole } from '../nodes/node-registry.ts';
import { createShareBook } from '../nodes/share-book.ts';
import { openCutterThread } from '../raster/open-cutter-thread.ts';
import { openUpstreamDesk } from '../sources/upstream/open-upstream-desk.ts';
import { driverOf } from '../storage/drivers.ts';
import { type TaskSettings, taskSettingsFor } from '../tasks/task-service.ts';
import { followNodes, joinNodes, type Membership } from './join-nodes.ts';
import { openDeclarations } from './open-declarations.ts';
import { openEditing } from './open-editing.ts';
import { databaseOf, openRoad, type RoadSurroundings } from './open-road.ts';
import { openWork } from './open-work.ts';

export interface NodeSurroundings extends RoadSurroundings {
  /** The processes that answer HTTP; without them this one does. */
  readonly processes?: HttpProcesses;
  /** Starts a process that opens a task process app; without it tasks run in the node's own process. */
  readonly forkWorker?: () => ChildProcess;
}

/** Only the owner and the group may read the data folder. */
const DATA_FOLDER_MODE = 0o750;
/** Milliseconds that a write waits at a quota. Clients do not wait for it, but what is made for them waits in memory. */
const SERVER_AT_THE_GATE = { patience: 500, withReserve: true };

/**
 * What a node is made of, whether or not it answers HTTP: its place among the nodes, the road that tiles take, what is
 * declared, the work on tiles, and changes of what is declared. Each part knows the ones before it.
 */
export async function openNode(
  settings: Settings,
  surroundings: NodeSurroundings,
  roles: readonly NodeRole[],
  open: ClosingStack,
) {
  const { clock, log, processes } = surroundings;
  await openDataFolder(settings, surroundings, open);
  const database = open.use(await openDatabase({ location: databaseOf(settings), clock, log }));
  const membership = await joinNodes(settings, database, roles, { clock, log }, open);
  const road = await openNodeRoad(settings, database, membership, surroundings, open);
  const forkWorker = keepsInMemory(settings) ? undefined : surroundings.forkWorker;
  const declarations = await openDeclarations(road, { clock, processes, forkWorker });
  const stores = road.catalog.stores();
  const { pipeline, events } = road;
  const { news } = membership;
  const refreshCatalog = declarations.refresh;
  const following = await followNodes({ stores, pipeline, events, news, refreshCatalog, processes }, open);
  const parts = { ...surroundings, road, membership, declarations, following };
  const { notifier, applyChanges, settled, exporter, ...work } = await openWork(settings, parts, open);
  const { editor, fileTaker, service } = await openEditing(settings, { ...parts, work }, open);
  return {
    ...membership,
    road,
    stores,
    pipeline: following.pipeline,
    followKeys: following.followKeys,
    entries: declarations.entries,
    settled,
    notifier,
    applyChanges,
    fileTaker,
    parts: {
      ...work,
      catalog: road.catalog,
      pipeline: following.pipeline,
      editor,
      exports: exporter,
      service,
    },
  };
}

async function openDataFolder(
  { data }: Settings,
  { log }: RoadSurroundings,
  open: ClosingStack,
): Promise<void> {
  await mkdir(data, { recursive: true, mode: DATA_FOLDER_MODE });
  await warnOfOpenFolder(data, log);
  const lock = openDataFolderLock(data);
  if (lock) return void open.use(lock);
  throw new TilewardenError(
    'data-folder-in-use',
    `The data folder ${data} is in use by another Tilewarden server. Stop that one, or choose another folder with --data.`,
  );
}

export type NodeRoad = Awaited<ReturnType<typeof openNodeRoad>>;

async function openNodeRoad(
  settings: Settings,
  database: Database,
  { instance, leads, news }: Membership,
  surroundings: RoadSurroundings,
  open: ClosingStack,
) {
  const desk = open.use(
    openUpstreamDesk({
      ...surroundings,
      upstreams: settings.upstreams,
      book: createBoundedCounters(database),
      ...(news && {
        shares: createShareBook(database, instance),
        news: createHostNewsBook(database, instance),
      }),
    }),
  );
  const parts = {
    ...surroundings,
    database,
    desk,
    cutter: open.use(openCutterThread(surroundings.log)),
    atTheGate: SERVER_AT_THE_GATE,
    sweeps: leads,
    ...(news && { outage: news, claims: createFlightClaims(database, instance, surroundings) }),
  };
  return openRoad(settings, parts, open);
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
