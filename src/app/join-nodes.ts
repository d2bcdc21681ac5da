import { createHash } from 'node:crypto';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readVersion } from '../config/environment.ts';
import type { Settings } from '../config/settings.ts';
import { type Database, leadAlone } from '../db/database.ts';
import { misconfigured, type TilewardenError } from '../domain/errors.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { HttpProcesses } from '../http/processes/http-processes.ts';
import { forgetEverywhere } from '../http/processes/primary-part.ts';
import type { Forgotten } from '../http/processes/process-messages.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { openNodeNews } from '../nodes/node-news.ts';
import { type NodeRegistry, type NodeRole, openNodeRegistry } from '../nodes/node-registry.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { driverOf, typesOf } from '../storage/drivers.ts';
import { TILE_NEWS, type TileStore } from '../storage/tile-store.ts';
import type { RoadSurroundings } from './open-road.ts';

/** Whether other nodes may use the same database and stores. */
export function isShared(settings: Pick<Settings, 'stores' | 'database'>): boolean {
  return settings.database !== null && sharesStores(settings);
}

export function sharesStores({ stores }: Pick<Settings, 'stores'>): boolean {
  return Object.values(stores).every((store) => driverOf(store).place === 'shared');
}

/** Takes this process among the nodes that share the database, or refuses to. */
export async function joinNodes(
  settings: Settings,
  database: Database,
  { clock, log }: RoadSurroundings,
  { instance, roles }: { readonly instance: string; readonly roles: readonly NodeRole[] },
  open: ClosingStack,
) {
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
  const whose = sharesStores(settings) ? 'that server' : 'this server';
  return misconfigured(
    `The database is in use by another Tilewarden server, and ${whose} has local tile stores, which cannot be shared: each server would serve tiles that the other has removed. Stop the other server, choose another database with --database, or use stores of type ${typesOf('shared')} on all of them.`,
  );
}

const FILE = 'http.sock';
/** unix(7): a path has at most 107 bytes. */
const LONGEST = 100;

/** Where the primary listens for its processes. Only the server's own user can connect. */
export function processSocketOf({ data }: Pick<Settings, 'data'>): string {
  const path = join(data, FILE);
  if (Buffer.byteLength(path) <= LONGEST) return path;
  const name = createHash('sha256').update(data).digest('hex').slice(0, 24);
  return join(tmpdir(), `tilewarden-${name}.sock`);
}

/** Where a server with these settings answers, with a slash at the end. */
export function urlOf({ host, port, tls }: Pick<Settings['server'], 'host' | 'port' | 'tls'>): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}

interface FollowOptions {
  readonly settings: Settings;
  readonly database: Database;
  readonly stores: ReadonlyMap<string, TileStore>;
  readonly pipeline: TilePipeline;
  readonly events: TileEvents;
  readonly registry: NodeRegistry;
  /** Takes up in this node what has been declared elsewhere. */
  readonly refreshCatalog: () => Promise<void>;
  /** The same of keys for readers. */
  readonly refreshKeys: () => Promise<void>;
  readonly processes: HttpProcesses | undefined;
}

/** How this node keeps up with the others, and they with it. */
export async function followNodes(
  options: FollowOptions,
  { clock, log }: RoadSurroundings,
  open: ClosingStack,
) {
  const { settings, database, registry, processes, events } = options;
  const shared = isShared(settings);
  let made = 0;
  let heard = 0;
  const others = {
    forget(forgotten: Forgotten) {
      made++;
      processes?.forget(forgotten);
    },
  };
  const alone = !shared && !processes;
  const pipeline = alone ? options.pipeline : forgetEverywhere(options.pipeline, events, others);
  const takeUp = createTakeUp(options, pipeline);
  const staleMs = settings.memoryTierStaleSeconds * 1000;
  const tools = { database, registry, takeUp, channels: [TILE_NEWS], staleMs, clock, log };
  const news = shared ? open.use(await openNodeNews(tools)) : null;
  if (news) pipeline.guardCopies(news);
  return {
    /** What it forgets, replaces or removes others forget too. */
    pipeline,
    /** Null where there are no other nodes. */
    news,
    /** Something else was changed that other nodes have copies of. */
    changed(): void {
      made++;
    },
    /** Resolves when processes have told what they counted; or when they and all nodes obey every change made before. */
    async settled(what: 'counts' | 'changes'): Promise<void> {
      await processes?.settle();
      if (what === 'counts' || !news) return;
      for (const mine = made; heard < mine; ) {
        const upTo = made;
        await news.heardByAll();
        heard = Math.max(heard, upTo);
      }
    },
  };
}

function createTakeUp(
  { stores, refreshCatalog, refreshKeys, processes }: FollowOptions,
  pipeline: Pick<TilePipeline, 'changedElsewhere'>,
): () => Promise<void> {
  const cursors = new Map<string, string>();
  return async () => {
    await refreshCatalog();
    await refreshKeys();
    for (const [name, store] of stores) {
      const told = await store.news?.(cursors.get(name) ?? null);
      if (!told) continue;
      for (const one of told.news) pipeline.changedElsewhere(one);
      cursors.set(name, told.cursor);
    }
    await processes?.settle();
  };
}
