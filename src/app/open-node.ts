import { openDeclarations } from '../catalog/open-declarations.ts';
import { createTimeStore } from '../catalog/time-lists.ts';
import { openAreaWatch } from '../changes/open-area-watch.ts';
import { forgetFormerProcesses } from '../cluster/host-shares.ts';
import type { NodeRole } from '../cluster/node-registry.ts';
import type { Settings } from '../config/settings-schema.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { openEditing } from './config-file.ts';
import { CATALOG, followOthers, joinNodes } from './membership.ts';
import { openProcess } from './open-process.ts';
import { openServices } from './open-services.ts';
import { openWork } from './open-work.ts';
import { openAlone, type ServerEnv } from './parent.ts';

export type Node = Awaited<ReturnType<typeof openNode>>;

/**
 * A node, with or without HTTP, is one record of opened parts: its place among the nodes, what makes and keeps tiles, what
 * is declared, the work on tiles, and changes of what is declared. Each part knows the ones before it; `open` closes them
 * in reverse order.
 */
export async function openNode(
  settings: Settings,
  env: ServerEnv,
  roles: readonly NodeRole[],
  open: ClosingStack,
) {
  const several = env.supervisor !== undefined;
  const supervisor = env.supervisor ?? (await openAlone(settings, env, open));
  const isFirst = supervisor?.first ?? true;
  const how = { onSilent: supervisor?.end ?? null, several, shared: several };
  const parts = await openProcess(settings, env, how, open);
  if (isFirst && settings.database === null) await forgetFormerProcesses(parts.database);
  const membership = await joinNodes(parts, roles);
  const services = await openServices(parts, membership, 'serve');
  // Resolve when the other processes of this server (`announceHere`), and all nodes (`announce`), have the changes.
  const announceHere = async () => void (await parts.feed?.ask(CATALOG));
  const announce = async () => {
    await announceHere();
    await membership.peers?.waitForAllNodes();
  };
  const declarations = await openDeclarations({ ...parts, ...services, announceHere, announce });
  const opened = { ...parts, ...membership, ...services, ...declarations, supervisor, isFirst };
  const following = await followOthers(opened, declarations.refreshCatalog);
  const node = { ...opened, ...following, ...(env.forkWorker && { forkWorker: env.forkWorker }) };
  const refreshAll = async () => {
    await declarations.refreshCatalog();
    await membership.peers?.waitForAllNodes();
  };
  const work = await openWork(node, createTimeStore(services.entries, refreshAll));
  const { readAreas: areas } = services;
  open.use(openAreaWatch({ ...node, areas, apply: work.applyChanges, announce: refreshAll }));
  return { ...node, ...work, ...(await openEditing({ ...node, ...work, announce })) };
}
