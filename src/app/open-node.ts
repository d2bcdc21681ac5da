import { randomUUID } from 'node:crypto';
import type { NodeRole } from '../cluster/node-registry.ts';
import type { Settings } from '../config/settings.ts';
import { openDatabase } from '../db/open-database.ts';
import { ProcessFeed } from '../db/process-feed.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { followNodes, joinNodes } from './join-nodes.ts';
import { openDeclarations } from './open-declarations.ts';
import { openEditing } from './open-editing.ts';
import { openNodeServices } from './open-node-services.ts';
import { databaseOf } from './open-tile-services.ts';
import { openWork } from './open-work.ts';
import { openAlone, type ServerEnv } from './open-workers.ts';

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
  const { clock, log } = env;
  const { data } = settings;
  const instance = randomUUID();
  const several = env.supervisor !== undefined;
  const supervisor = env.supervisor ?? (await openAlone(settings, env, open));
  const isFirst = supervisor?.first ?? true;
  const feed = supervisor
    ? open.use(new ProcessFeed({ data, instance, onSilent: supervisor.end, clock, log }))
    : null;
  const location = databaseOf(settings);
  const database = open.use(await openDatabase({ location, feed, shared: several, clock, log }));
  const tools = { instance, feed, several, clock, log };
  const membership = await joinNodes(settings, database, roles, tools, open);
  const services = await openNodeServices(settings, database, membership, 'serve', env, open);
  const declarations = await openDeclarations(services, { clock, feed });
  const stores = services.catalog.stores();
  const { pipeline, events } = services;
  const { peers } = membership;
  const refreshCatalog = declarations.refresh;
  const following = await followNodes(
    { stores, pipeline, events, peers, refreshCatalog, feed, several },
    open,
  );
  const parts = { ...env, services, membership, declarations, following, supervisor, isFirst };
  const { notifier, applyChanges, times, replaced, flush, exporter, ...work } = await openWork(
    settings,
    parts,
    open,
  );
  const { editor, fileTaker, service } = await openEditing(settings, { ...parts, work });
  return {
    ...membership,
    supervisor,
    services,
    stores,
    pipeline: following.pipeline,
    followKeys: following.followKeys,
    flush,
    replaced,
    notifier,
    applyChanges,
    times,
    fileTaker,
    parts: {
      ...work,
      catalog: services.catalog,
      pipeline: following.pipeline,
      areas: settings.areas,
      groups: settings.groups,
      editor,
      exports: exporter,
      service,
    },
  };
}
