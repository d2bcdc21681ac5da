import { randomUUID } from 'node:crypto';
import type { ReaderKeys } from '../access/open-reader-keys.ts';
import { createNodeChanges, type NodeChanges } from '../cluster/node-changes.ts';
import { type NodeRole, openNodeRegistry } from '../cluster/node-registry.ts';
import { readVersion } from '../config/environment.ts';
import type { Settings } from '../config/settings.ts';
import { type Database, leadAlone } from '../db/database.ts';
import { misconfigured, type TilewardenError } from '../domain/errors.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { HttpProcesses } from '../http/hits/http-processes.ts';
import { forgetEverywhere } from '../http/hits/primary-part.ts';
import type { Forgotten } from '../http/hits/process-messages.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { typesOf } from '../storage/drivers.ts';
import { TILE_NEWS, type TileStore } from '../storage/tile-store.ts';
import { isShared, nodeName, sharesStores } from './node-settings.ts';

export type Membership = Awaited<ReturnType<typeof joinNodes>>;

/** Takes this process among the nodes that share the database, or refuses to. */
export async function joinNodes(
  settings: Settings,
  database: Database,
  roles: readonly NodeRole[],
  tools: Env,
  open: ClosingStack,
) {
  const instance = randomUUID();
  const self = { name: nodeName(settings, settings.server.port), roles, version: readVersion() };
  const register = async () => open.use(await openNodeRegistry({ database, instance, self, ...tools }));
  const location = settings.database;
  if (location === null) {
    return { instance, registry: await register(), lead: leadAlone, leads: () => true, peers: null };
  }
  const { openServerLock } = await import('../cluster/server-lock.ts');
  const lock = await openServerLock({ location, ...tools, shared: sharesStores(settings) });
  if (!lock) throw inUse(settings);
  open.use(lock);
  const registry = await register();
  const { openLeadership } = await import('../cluster/leadership.ts');
  let leading = false;
  const changed = (leads: boolean) => {
    leading = leads;
    registry.leads(leads);
  };
  const { lead } = open.use(openLeadership({ location, ...tools, changed }));
  const staleMs = settings.memoryTier.staleSeconds * 1000;
  const peers = isShared(settings)
    ? createNodeChanges({ database, registry, channels: [TILE_NEWS], staleMs, ...tools })
    : null;
  return { instance, registry, lead, leads: () => leading, peers };
}

function inUse(settings: Settings): TilewardenError {
  const whose = sharesStores(settings) ? 'that server' : 'this server';
  return misconfigured(
    `The database is in use by another Tilewarden server, and ${whose} has local tile stores, which cannot be shared: each server would serve tiles that the other has removed. Stop the other server, choose another database with --database, or use stores of type ${typesOf('shared')} on all of them.`,
  );
}

interface FollowOptions {
  readonly stores: ReadonlyMap<string, TileStore>;
  readonly pipeline: TilePipeline;
  readonly events: TileEvents;
  /** Null where there are no other nodes. */
  readonly peers: NodeChanges | null;
  readonly refreshCatalog: () => Promise<void>;
  readonly processes: HttpProcesses | undefined;
}

export type Following = Awaited<ReturnType<typeof followNodes>>;

/** Keeps this node and the others in step. */
export async function followNodes(options: FollowOptions, open: ClosingStack) {
  const { peers, processes, events, stores } = options;
  let changeCount = 0;
  let obeyedCount = 0;
  const others = {
    forget(forgotten: Forgotten) {
      changeCount++;
      processes?.forget(forgotten);
    },
  };
  const alone = !peers && !processes;
  const pipeline = alone ? options.pipeline : forgetEverywhere(options.pipeline, events, others);
  if (peers) {
    peers.onChange(options.refreshCatalog);
    peers.onChange(createChangeReader(stores, pipeline, processes));
    open.use(await peers.follow());
    pipeline.guardCopies(peers);
  }
  return {
    /** Whatever it forgets, replaces or removes, other processes and nodes forget too. */
    pipeline,
    /** Keeps keys for readers in step with the other processes and nodes. */
    async followKeys(keys: ReaderKeys): Promise<void> {
      if (peers) keys.shareRates();
      peers?.onChange(keys.refresh);
      await keys.refresh();
      keys.onChange((change) => {
        changeCount++;
        processes?.keysChanged(change);
      });
    },
    /** `counts`: resolves when processes have reported their counts; `changes`: when all processes and nodes obey earlier changes. */
    async flush(what: 'counts' | 'changes'): Promise<void> {
      await processes?.flush();
      if (what === 'counts' || !peers) return;
      for (const mine = changeCount; obeyedCount < mine; ) {
        const upTo = changeCount;
        await peers.waitForAllNodes();
        obeyedCount = Math.max(obeyedCount, upTo);
      }
    },
  };
}

function createChangeReader(
  stores: ReadonlyMap<string, TileStore>,
  pipeline: Pick<TilePipeline, 'changedElsewhere'>,
  processes: HttpProcesses | undefined,
): () => Promise<void> {
  const cursors = new Map<string, string>();
  return async () => {
    for (const [name, store] of stores) {
      const read = await store.changesSince?.(cursors.get(name) ?? null);
      if (!read) continue;
      for (const change of read.changes) pipeline.changedElsewhere(change);
      cursors.set(name, read.cursor);
    }
    await processes?.flush();
  };
}
