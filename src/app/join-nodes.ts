import { hostname } from 'node:os';
import type { Settings } from '../config/settings.ts';
import { readVersion } from '../config/version.ts';
import { type Database, type Lead, leadAlone } from '../db/database.ts';
import { misconfigured, type TilewardenError } from '../domain/errors.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { type NodeRegistry, type NodeRole, openNodeRegistry } from '../nodes/node-registry.ts';
import type { RoadSurroundings } from './open-road.ts';

/** Stores that every node sees alike. What one node keeps on its disk or in its memory another cannot. */
const SHARED_STORES: readonly string[] = ['s3'];

export interface Membership {
  readonly registry: NodeRegistry;
  readonly lead: Lead;
  readonly leads: () => boolean;
}

/** Whether other nodes may use the same database and stores. */
export function isShared(settings: Pick<Settings, 'stores' | 'database'>): boolean {
  return settings.database !== null && sharesStores(settings);
}

export function sharesStores({ stores }: Pick<Settings, 'stores'>): boolean {
  return Object.values(stores).every(({ type }) => SHARED_STORES.includes(type));
}

/** Takes this process among the nodes that share the database, or refuses to. */
export async function joinNodes(
  settings: Settings,
  database: Database,
  { clock, log }: RoadSurroundings,
  { instance, roles }: { readonly instance: string; readonly roles: readonly NodeRole[] },
  open: ClosingStack,
): Promise<Membership> {
  const location = settings.database;
  const self = { name: nodeName(settings, settings.server.port), roles, version: readVersion() };
  if (location === null) {
    const registry = open.use(await openNodeRegistry({ database, instance, self, clock, log }));
    return { registry, lead: leadAlone, leads: () => true };
  }
  const { openServerLock } = await import('../db/postgres/server-lock.ts');
  const lock = await openServerLock({ location, clock, log, shared: sharesStores(settings) });
  if (!lock) throw inUse(settings);
  open.use(lock);
  const registry = open.use(await openNodeRegistry({ database, instance, self, clock, log }));
  const { openLeadership } = await import('../db/postgres/leadership.ts');
  let leading = false;
  const changed = (leads: boolean) => {
    leading = leads;
    registry.leads(leads);
  };
  const { lead } = open.use(openLeadership({ location, clock, log, changed }));
  return { registry, lead, leads: () => leading };
}

export function nodeName({ node }: Pick<Settings, 'node'>, port: number): string {
  return node ?? `${hostname()}:${port}`;
}

/** Another node on this machine may have the port. */
export function workerName({ node }: Pick<Settings, 'node'>): string {
  return node ?? `${hostname()}:worker-${process.pid}`;
}

function inUse(settings: Settings): TilewardenError {
  const whose = sharesStores(settings) ? 'that one' : 'this one';
  return misconfigured(
    `The database is in use by another Tilewarden server, and the tile stores of ${whose} lie on its own machine: each server would serve tiles that the other has removed. Stop the other server, choose another database with --database, or use stores of type s3 on all of them.`,
  );
}
