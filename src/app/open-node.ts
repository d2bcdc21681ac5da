import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { NodeRole } from '../cluster/node-registry.ts';
import type { Settings } from '../config/settings.ts';
import { openDatabase } from '../db/open-database.ts';
import { ProcessFeed } from '../db/process-feed.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { openDataFolder } from './data-folder.ts';
import { followNodes, joinNodes } from './join-nodes.ts';
import { keepsInMemory } from './node-settings.ts';
import { openDeclarations } from './open-declarations.ts';
import { openEditing } from './open-editing.ts';
import { openNodeServices } from './open-node-services.ts';
import { databaseOf, type NodeEnv } from './open-tile-services.ts';
import { openWork } from './open-work.ts';

export interface ServerEnv extends NodeEnv {
  /** The parent of this process, if it is one of several that answer; it holds the locks. */
  readonly supervisor?: Supervisor;
  /** Starts a process that opens a task process app; without it tasks run in the node's own process. */
  readonly forkWorker?: () => ChildProcess;
}

export interface Supervisor {
  /** Whether this is the first process after a start of the server. */
  readonly first: boolean;
  /** Ends a process that does not respond. */
  end(pid: number): void;
  /** The settings of the file have changed: later processes begin with them. */
  reloaded(): void;
}

/**
 * The parts of a node, with or without HTTP: its place among the nodes, what makes and keeps tiles, what is
 * declared, the work on tiles, and changes of what is declared. Each part knows the ones before it.
 */
export async function openNode(
  settings: Settings,
  env: ServerEnv,
  roles: readonly NodeRole[],
  open: ClosingStack,
) {
  const { clock, log, supervisor } = env;
  const { data } = settings;
  const instance = randomUUID();
  const isFirst = supervisor?.first ?? true;
  if (!supervisor) await openDataFolder(data, log, open);
  const feed = supervisor
    ? open.use(new ProcessFeed({ data, instance, onSilent: supervisor.end, clock, log }))
    : null;
  const database = open.use(await openDatabase({ location: databaseOf(settings), feed, clock, log }));
  const membership = await joinNodes(settings, database, roles, { instance, feed, clock, log }, open);
  const services = await openNodeServices(settings, database, membership, env, open);
  const forkWorker = keepsInMemory(settings) ? undefined : env.forkWorker;
  const declarations = await openDeclarations(services, { clock, feed, forkWorker });
  const stores = services.catalog.stores();
  const { pipeline, events } = services;
  const { peers } = membership;
  const refreshCatalog = declarations.refresh;
  const following = await followNodes({ stores, pipeline, events, peers, refreshCatalog, feed }, open);
  const parts = { ...env, services, membership, declarations, following };
  const { notifier, applyChanges, replaced, flush, exporter, ...work } = await openWork(
    settings,
    parts,
    open,
  );
  const { editor, fileTaker, service } = await openEditing(settings, { ...parts, work, isFirst });
  return {
    ...membership,
    services,
    stores,
    pipeline: following.pipeline,
    followKeys: following.followKeys,
    flush,
    replaced,
    notifier,
    applyChanges,
    fileTaker,
    parts: {
      ...work,
      catalog: services.catalog,
      pipeline: following.pipeline,
      areas: settings.areas,
      editor,
      exports: exporter,
      service,
    },
  };
}
