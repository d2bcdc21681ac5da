import type { ChildProcess } from 'node:child_process';
import type { NodeRole } from '../cluster/node-registry.ts';
import type { Settings } from '../config/settings.ts';
import { openDatabase } from '../db/open-database.ts';
import type { HttpProcesses } from '../http/hits/http-processes.ts';
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
  /** The processes that answer HTTP; without them this one does. */
  readonly processes?: HttpProcesses;
  /** Starts a process that opens a task process app; without it tasks run in the node's own process. */
  readonly forkWorker?: () => ChildProcess;
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
  const { clock, log, processes } = env;
  await openDataFolder(settings.data, log, open);
  const database = open.use(await openDatabase({ location: databaseOf(settings), clock, log }));
  const membership = await joinNodes(settings, database, roles, { clock, log }, open);
  const services = await openNodeServices(settings, database, membership, env, open);
  const forkWorker = keepsInMemory(settings) ? undefined : env.forkWorker;
  const declarations = await openDeclarations(services, { clock, processes, forkWorker });
  const stores = services.catalog.stores();
  const { pipeline, events } = services;
  const { peers } = membership;
  const refreshCatalog = declarations.refresh;
  const following = await followNodes({ stores, pipeline, events, peers, refreshCatalog, processes }, open);
  const parts = { ...env, services, membership, declarations, following };
  const { notifier, applyChanges, flush, exporter, ...work } = await openWork(settings, parts, open);
  const { editor, fileTaker, service } = await openEditing(settings, { ...parts, work }, open);
  return {
    ...membership,
    services,
    stores,
    pipeline: following.pipeline,
    followKeys: following.followKeys,
    entries: declarations.entries,
    flush,
    notifier,
    applyChanges,
    fileTaker,
    parts: {
      ...work,
      catalog: services.catalog,
      pipeline: following.pipeline,
      editor,
      exports: exporter,
      service,
    },
  };
}
