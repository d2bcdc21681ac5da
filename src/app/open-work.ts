import type { Declarations } from '../catalog/open-declarations.ts';
import type { TimeStore } from '../catalog/time-lists.ts';
import { createChangeApplier } from '../changes/apply-changes.ts';
import { openOutgoing } from '../changes/deliveries/open-outgoing.ts';
import { releaseShares } from '../cluster/host-shares.ts';
import { exportNode, keepsInMemory, taskSettings } from '../config/node-settings.ts';
import { GONE, type GoneProcess } from '../db/process-feed.ts';
import { openRepeater } from '../lib/repeat.ts';
import { openQuotaService } from '../quota/quota-service.ts';
import { MARKS_RAISED, openCleaner } from '../removal/cleaner.ts';
import { createTileRefresh } from '../removal/refresh-tile.ts';
import { createRemovals } from '../removal/removals.ts';
import { openWindowKeeper } from '../removal/window-keeper.ts';
import { hostsNamedIn } from '../sources/upstream/address-guard.ts';
import { hostAndPort } from '../sources/upstream/upstream-options.ts';
import { createExporter } from '../tasks/exporter.ts';
import { createMassTruncation } from '../tasks/mass-truncation.ts';
import { openTaskService } from '../tasks/open-task-service.ts';
import { openScheduleService } from '../tasks/schedules/open-schedule-service.ts';
import { createSelectionWork } from '../tasks/selection-work.ts';
import { createLeaseStore } from '../tasks/store/lease-store.ts';
import { createTaskStore } from '../tasks/store/task-store.ts';
import { openTimeSeeder } from '../tasks/time-seeds.ts';
import type { followOthers, Membership } from './membership.ts';
import type { ProcessParts } from './open-process.ts';
import type { Services } from './open-services.ts';
import type { ServerEnv, Supervisor } from './parent.ts';

/** The parts of a node that `openWork` needs. */
export interface NodeParts
  extends ProcessParts,
    Membership,
    Services,
    Declarations,
    Awaited<ReturnType<typeof followOthers>>,
    Pick<ServerEnv, 'forkWorker'> {
  /** Null: there are no other processes. */
  readonly supervisor: Supervisor | null;
  /** Whether no other process of this server was running before. */
  readonly isFirst: boolean;
}

/** Milliseconds between searches for files of exports that a crash has left. */
const TIDY_INTERVAL = 3_600_000;
/** Time limit of a purge or notification, in milliseconds. */
const SEND_TIMEOUT_MS = 10_000;
/** All statuses of success but 200. RFC 9110, 15.3. */
const SUCCESS = Array.from({ length: 99 }, (_, index) => 201 + index);

export type Work = Awaited<ReturnType<typeof openWork>>;

/** Work on tiles: removal, seeding, export and eviction by requests, tasks and schedules, and reports of this work. */
export async function openWork(node: NodeParts, times: TimeStore) {
  const { settings, open, catalog, limiter, clock, log } = node;
  const stores = catalog.stores();
  const { deliveries, notifier, ...outgoing } = openReports(node);
  const { flush } = deliveries;
  const removals = openRemovals(node, flush);
  await node.outdate(node.redeclared);
  const exporter = createExporter({ ...node, data: settings.data, node: exportNode(settings) });
  const failure = 'files of former exports could not be removed';
  open.use(openRepeater(exporter.tidy, { clock, log, pause: TIDY_INTERVAL, failure }));
  const quota = open.use(await openQuotaService({ ...node, stores, onFull: outgoing.onFull }));
  const tasks = open.use(
    await openTaskService({
      ...node,
      removals,
      exporter,
      settings: taskSettings(settings),
      startWorkers: startWorkersOf(node),
      adopts: node.isFirst && settings.database === null,
      usedPages: (set) => quota.usedPages(set),
    }),
  );
  freeWhatTheGoneHeld(node);
  const receivers = hostsNamedIn(settings.notify.map(({ url }) => url));
  await outgoing.watch({ tasks, stores, hosts: limiter.report, receivers });
  const selections = createSelectionWork({ ...node, removals, tasks });
  const declared = settings.schedules;
  const onFailed = outgoing.scheduleFailed;
  const schedules = open.use(await openScheduleService({ ...node, tasks, selections, declared, onFailed }));
  open.use(openTimeSeeder({ ...node, layers: () => node.declared.withFeeds(), store: times, tasks }));
  return {
    tasks,
    times,
    schedules,
    massTruncation: createMassTruncation({ ...node, removals, tasks }),
    selections,
    quota,
    exports: exporter,
    deliveries,
    notifier,
    applyChanges: createChangeApplier({ catalog, removals, renew: selections.renew }).apply,
    refresh: createTileRefresh({ ...node, removals, flush }),
    /** Resolves when all processes and nodes obey earlier changes, and the keys to purge are recorded. */
    flush,
  };
}

/** Purges and notifications. Requests to their hosts have the same limits as those to sources. */
function openReports({ settings, limiter, obeyed, open, ...node }: NodeParts) {
  const { purge, notify, server } = settings;
  const client = node.openClient(hostsNamedIn([...purge, ...notify].map(({ url }) => url)));
  const limits = {
    priority: 'interactive',
    timeoutMs: SEND_TIMEOUT_MS,
    alsoAccept: SUCCESS,
    packed: true,
  } as const;
  return openOutgoing(
    {
      ...node,
      ...{ purge, notify, obeyed, surrogateKeys: server.surrogateKeys },
      send: async (request, signal) => void (await client.get({ ...request, ...limits, signal })),
      tryHost: (url) => limiter.tryNow(hostAndPort(url)),
    },
    open,
  );
}

function openRemovals(node: NodeParts, obeyedByAll: () => Promise<void>) {
  const { database, records, peers, open } = node;
  const removals = createRemovals({
    ...node,
    obeyedByAll,
    async outdateFormer(layers) {
      if (!(await records.outdateFormer(layers))) return;
      await node.refreshCatalog();
      await peers?.waitForAllNodes();
    },
    // The cleaner also polls, so a lost notification only delays it.
    raised: () => void database.notify(MARKS_RAISED),
  });
  const marksOfTasks = () => createTaskStore(database).marksRaised();
  open.use(openCleaner({ ...node, marksOfTasks, dropUnreachable: records.collectAll }));
  open.use(openWindowKeeper({ ...node, removals }));
  return removals;
}

/** Undefined: tasks run in this process. */
function startWorkersOf({ settings, supervisor, forkWorker }: NodeParts): (() => void) | undefined {
  if (supervisor) return supervisor.startWorkers;
  return forkWorker && !keepsInMemory(settings) ? () => {} : undefined;
}

/** Frees the leases and the host shares of a process that has ended, for the others. */
function freeWhatTheGoneHeld({ feed, divided, log, ...node }: NodeParts): void {
  const leases = createLeaseStore(node);
  feed?.on(GONE, async (gone) => {
    const { instance: owner, crashed } = gone as GoneProcess;
    try {
      if (divided) await releaseShares(divided, owner);
      await leases.free({ owner }, crashed);
    } catch (err) {
      log.warn({ err }, 'could not release the leases and places of an ended process; they expire');
    }
  });
}
