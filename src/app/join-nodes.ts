import { join } from 'node:path';
import type { ReaderKeys } from '../access/open-reader-keys.ts';
import { createNodeChanges, type NodeChanges } from '../cluster/node-changes.ts';
import { type NodeRole, openNodeRegistry } from '../cluster/node-registry.ts';
import { readVersion } from '../config/environment.ts';
import type { Settings } from '../config/settings.ts';
import { type Database, leadAlone } from '../db/database.ts';
import type { ProcessFeed } from '../db/process-feed.ts';
import { misconfigured, type TilewardenError } from '../domain/errors.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { typesOf } from '../storage/drivers.ts';
import { type Store, TILE_NEWS, type TileChange } from '../storage/store.ts';
import { isShared, nodeName, sharesStores } from './node-settings.ts';
import { announceForgotten, announceTiles, followProcesses, shareKeys } from './share-changes.ts';

export type Membership = Awaited<ReturnType<typeof joinNodes>>;

const LEADER_FILE = 'leader.db';

interface JoinTools extends Env {
  /** Names this process. */
  readonly instance: string;
  /** Null: the server has no other process. */
  readonly feed: ProcessFeed | null;
  /** Whether other processes of the server answer too. */
  readonly several: boolean;
}

/** Takes this process among the nodes that share the database, or refuses to. */
export async function joinNodes(
  settings: Settings,
  database: Database,
  roles: readonly NodeRole[],
  { instance, feed, several, ...tools }: JoinTools,
  open: ClosingStack,
) {
  const self = { name: nodeName(settings, settings.server.port), roles, version: readVersion() };
  const register = async () => open.use(await openNodeRegistry({ database, instance, self, ...tools }));
  const location = settings.database;
  let leading = false;
  if (location === null) {
    const registry = await register();
    const alone = { instance, feed, several, registry, peers: null };
    if (!several) return { ...alone, lead: leadAlone, leads: () => true };
    const { openLocalLeadership } = await import('../cluster/terms.ts');
    const file = join(settings.data, LEADER_FILE);
    const changed = (leads: boolean) => {
      leading = leads;
    };
    const { lead } = open.use(openLocalLeadership({ file, ...tools, changed }));
    return { ...alone, lead, leads: () => leading };
  }
  // Of several processes their parent holds it.
  if (!several) open.use(await lockDatabase(settings, location, tools));
  const registry = await register();
  const { openLeadership } = await import('../cluster/leadership.ts');
  const changed = (leads: boolean) => {
    leading = leads;
    registry.leads(leads);
  };
  const { lead } = open.use(openLeadership({ location, ...tools, changed }));
  const staleMs = settings.memoryTier.staleSeconds * 1000;
  const peers = isShared(settings)
    ? createNodeChanges({ database, registry, channels: [TILE_NEWS], staleMs, ...tools })
    : null;
  return { instance, feed, several, registry, lead, leads: () => leading, peers };
}

/** Keeps other servers from a database whose stores cannot be shared. */
export async function lockDatabase(settings: Settings, location: string, tools: Env) {
  const { openServerLock } = await import('../cluster/server-lock.ts');
  const lock = await openServerLock({ location, ...tools, shared: sharesStores(settings) });
  if (!lock) throw inUse(settings);
  return lock;
}

function inUse(settings: Settings): TilewardenError {
  const whose = sharesStores(settings) ? 'that server' : 'this server';
  return misconfigured(
    `The database is in use by another Tilewarden server, and ${whose} has local tile stores, which cannot be shared: each server would serve tiles that the other has removed. Stop the other server, choose another database with --database, or use stores of type ${typesOf('shared')} on all of them.`,
  );
}

interface FollowOptions {
  readonly stores: ReadonlyMap<string, Store>;
  readonly pipeline: TilePipeline;
  readonly events: TileEvents;
  /** Null where there are no other nodes. */
  readonly peers: NodeChanges | null;
  /** Null where there are no other processes. */
  readonly feed: ProcessFeed | null;
  /** Whether other processes answer too. */
  readonly several: boolean;
  /** Takes up what another node, or another process of this server, has declared. */
  readonly refreshCatalog: (from: 'node' | 'process') => Promise<void>;
}

export type Following = Awaited<ReturnType<typeof followNodes>>;

/** Keeps this process in step with other nodes and other processes. */
export async function followNodes(options: FollowOptions, open: ClosingStack) {
  const { peers, feed, several, events, stores } = options;
  let changeCount = 0;
  let obeyedCount = 0;
  let keysObeyed = async () => {};
  // Workers keep no tiles.
  const post = several && feed && announceTiles(feed);
  const announce = (change: TileChange) => {
    changeCount++;
    if (post) post(change);
  };
  const alone = !peers && !several;
  const pipeline = alone ? options.pipeline : announceForgotten(options.pipeline, events, announce);
  const refreshCatalog = () => options.refreshCatalog('process');
  if (feed) followProcesses({ feed, pipeline: options.pipeline, refreshCatalog });
  if (peers) {
    peers.onChange(() => options.refreshCatalog('node'));
    peers.onChange(createChangeReader(stores, pipeline));
    open.use(await peers.follow());
    pipeline.guardCopies(peers);
  }
  return {
    /** Whatever it forgets or removes, other processes and nodes forget too. */
    pipeline,
    /** Keeps keys for readers in step with the other processes and nodes. */
    async followKeys(keys: ReaderKeys): Promise<void> {
      peers?.onChange(keys.refresh);
      await keys.refresh();
      if (several && feed) keysObeyed = shareKeys(feed, keys);
      else keys.onChange(() => void changeCount++);
    },
    /** Resolves when all processes and nodes obey earlier changes. */
    async flush(): Promise<void> {
      if (several) await feed?.posted();
      await keysObeyed();
      if (!peers) return;
      for (const mine = changeCount; obeyedCount < mine; ) {
        const upTo = changeCount;
        await peers.waitForAllNodes();
        obeyedCount = Math.max(obeyedCount, upTo);
      }
    },
  };
}

function createChangeReader(
  stores: ReadonlyMap<string, Store>,
  pipeline: Pick<TilePipeline, 'changedElsewhere'>,
): () => Promise<void> {
  const cursors = new Map<string, string>();
  return async () => {
    for (const [name, store] of stores) {
      const read = await store.changesSince?.(cursors.get(name) ?? null);
      if (!read) continue;
      for (const change of read.changes) pipeline.changedElsewhere(change);
      cursors.set(name, read.cursor);
    }
  };
}
