import { mkdir } from 'node:fs/promises';
import { createTimeStore } from '../catalog/time-lists.ts';
import { createChangeApplier } from '../changes/apply-changes.ts';
import { releaseShares } from '../cluster/host-shares.ts';
import type { Settings } from '../config/settings.ts';
import { GONE, type GoneProcess } from '../db/process-feed.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { openRepeater } from '../lib/repeat.ts';
import { openQuotaService } from '../quota/quota-service.ts';
import { MARKS_RAISED, openCleaner } from '../removal/cleaner.ts';
import { createRemovals } from '../removal/removals.ts';
import { openWindowKeeper } from '../removal/window-keeper.ts';
import { createMassTruncation } from '../tasks/mass-truncation.ts';
import { openTaskService } from '../tasks/open-task-service.ts';
import { openScheduleService } from '../tasks/schedules/open-schedule-service.ts';
import { createSelectionWork } from '../tasks/selection-work.ts';
import { createLeaseStore } from '../tasks/store/lease-store.ts';
import { createTaskStore } from '../tasks/store/task-store.ts';
import { openTimeSeeder } from '../tasks/time-seeds.ts';
import { createExporter, exportFolder } from './exporter.ts';
import type { Following, Membership } from './join-nodes.ts';
import { keepsInMemory, taskSettings } from './node-settings.ts';
import type { Declarations } from './open-declarations.ts';
import type { NodeServices } from './open-node-services.ts';
import { openOutgoing } from './open-outgoing.ts';
import type { ServerEnv, Supervisor } from './open-workers.ts';

interface WorkParts extends Omit<ServerEnv, 'supervisor'> {
  /** Null: there are no other processes. */
  readonly supervisor: Supervisor | null;
  /** Whether no other process of this server was running before. */
  readonly isFirst: boolean;
  readonly services: NodeServices;
  readonly membership: Membership;
  readonly declarations: Declarations;
  readonly following: Following;
}

/** Milliseconds between looks for files of exports that a crash has left. */
const TIDY_INTERVAL = 3_600_000;

export type Work = Awaited<ReturnType<typeof openWork>>;

export async function openWork(settings: Settings, parts: WorkParts, open: ClosingStack) {
  const { services, membership, declarations, following, clock, random, log } = parts;
  const { database, catalog, events, limiter, parameters, parameterSets } = services;
  const { lead } = membership;
  const { pipeline } = following;
  const stores = catalog.stores();
  const obeyed = () => following.flush();
  const outgoing = openOutgoing(settings, { services, lead, obeyed, clock, log }, open);
  const { deliveries } = outgoing;
  const forgottenByAll = () => deliveries.flush();
  const tasksStored = createTaskStore(database);
  const { records } = declarations;
  const declaredByAll = async () => {
    await declarations.refresh();
    await membership.peers?.waitForAllNodes();
  };
  const times = createTimeStore(declarations.entries, declaredByAll);
  const removals = createRemovals({
    catalog,
    pipeline,
    events,
    obeyedByAll: forgottenByAll,
    async outdateFormer(layers) {
      if (await records.outdateFormer(layers)) await declaredByAll();
    },
    // The cleaner also looks from time to time.
    raised: () => void database.notify(MARKS_RAISED).catch(() => {}),
    clock,
  });
  open.use(
    openCleaner({
      catalog,
      database,
      lead,
      marksOfTasks: () => tasksStored.marksRaised(),
      dropUnreachable: records.collectAll,
      clock,
      log,
    }),
  );
  open.use(openWindowKeeper({ catalog, parameters, removals, lead, clock, log }));
  const flush = () => deliveries.flush();
  await declarations.outdate(declarations.redeclared);
  const exporter = await openExporter(settings, parts, open);
  const { onFull, scheduleFailed } = outgoing;
  const quota = open.use(
    await openQuotaService({ database, stores, parameters, events, lead, onFull, clock, log }),
  );
  const tasks = open.use(
    await openTaskService({
      database,
      catalog,
      pipeline,
      removals,
      exporter,
      settings: taskSettings(settings),
      lead,
      startWorkers: startWorkersOf(settings, parts),
      adopts: parts.isFirst && settings.database === null,
      parameterSets,
      usedPages: (set) => quota.usedPages(set),
      clock,
      random,
      log,
    }),
  );
  freeWhatTheGoneHeld(parts);
  await outgoing.watch(tasks, stores, limiter.report);
  const selections = createSelectionWork({
    catalog,
    parameters,
    removals,
    tasks,
    clock,
  });
  const applier = createChangeApplier({ catalog, removals, renew: selections.renew });
  const schedules = open.use(
    await openScheduleService({
      database,
      tasks,
      selections,
      declared: settings.schedules,
      lead,
      onFailed: scheduleFailed,
      clock,
      log,
    }),
  );
  const layers = () => declarations.declared.withFeeds();
  open.use(openTimeSeeder({ catalog, layers, store: times, tasks, lead, clock, log }));
  return {
    tasks,
    times,
    schedules,
    massTruncation: createMassTruncation({ catalog, parameters, removals, tasks }),
    selections,
    quota,
    exporter,
    deliveries,
    notifier: outgoing.notifier,
    applyChanges: applier.apply,
    replaced: removals.replaced,
    flush,
  };
}

async function openExporter(settings: Settings, { services, clock, log }: WorkParts, open: ClosingStack) {
  await mkdir(exportFolder(settings), { recursive: true });
  const exporter = createExporter({ settings, ...services, log });
  const failure = 'files of former exports could not be removed';
  open.use(openRepeater(exporter.tidy, { clock, log, pause: TIDY_INTERVAL, failure }));
  return exporter;
}

/** Undefined: tasks run in this process. */
function startWorkersOf(settings: Settings, { supervisor, forkWorker }: WorkParts): (() => void) | undefined {
  if (supervisor) return supervisor.startWorkers;
  return forkWorker && !keepsInMemory(settings) ? () => {} : undefined;
}

/** Pieces of tasks and places of hosts that a process had when it died go to the others. */
function freeWhatTheGoneHeld({ membership, services, clock, random, log }: WorkParts): void {
  const { database, divided } = services;
  const leases = createLeaseStore({ database, clock, random });
  membership.feed?.on(GONE, async (gone) => {
    const { instance: owner, crashed } = gone as GoneProcess;
    try {
      if (divided) await releaseShares(divided, owner);
      await leases.free({ owner }, crashed);
    } catch (err) {
      log.warn({ err }, 'what a process had when it ended could not be released; it expires');
    }
  });
}
