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
    return { instance, registry: await register(), lead: leadAlone, leads: () => true, news: null };
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
  const news = isShared(settings)
    ? createNodeChanges({ database, registry, channels: [TILE_NEWS], staleMs, ...tools })
    : null;
  return { instance, registry, lead, leads: () => leading, news };
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
  readonly news: NodeChanges | null;
  /** Takes up in this node what has been declared elsewhere. */
  readonly refreshCatalog: () => Promise<void>;
  readonly processes: HttpProcesses | undefined;
}

export type Following = Awaited<ReturnType<typeof followNodes>>;

/** How this node keeps up with the others, and they with it. */
export async function followNodes(options: FollowOptions, open: ClosingStack) {
  const { news, processes, events, stores } = options;
  let made = 0;
  let heard = 0;
  const others = {
    forget(forgotten: Forgotten) {
      made++;
      processes?.forget(forgotten);
    },
  };
  const alone = !news && !processes;
  const pipeline = alone ? options.pipeline : forgetEverywhere(options.pipeline, events, others);
  if (news) {
    news.onAsked(options.refreshCatalog);
    news.onAsked(createTakeUp(stores, pipeline, processes));
    open.use(await news.follow());
    pipeline.guardCopies(news);
  }
  return {
    /** What it forgets, replaces or removes others forget too. */
    pipeline,
    /** Keeps keys for readers in step with the other processes and nodes. */
    async followKeys(keys: ReaderKeys): Promise<void> {
      if (news) keys.shareRates();
      news?.onAsked(keys.refresh);
      await keys.refresh();
      keys.onChange((change) => {
        made++;
        processes?.keysChanged(change);
      });
    },
    /** Resolves when processes have told what they counted; or when they and all nodes obey every change made before. */
    async settled(what: 'counts' | 'changes'): Promise<void> {
      await processes?.settle();
      if (what === 'counts' || !news) return;
      for (const mine = made; heard < mine; ) {
        const upTo = made;
        await news.waitForAllNodes();
        heard = Math.max(heard, upTo);
      }
    },
  };
}

function createTakeUp(
  stores: ReadonlyMap<string, TileStore>,
  pipeline: Pick<TilePipeline, 'changedElsewhere'>,
  processes: HttpProcesses | undefined,
): () => Promise<void> {
  const cursors = new Map<string, string>();
  return async () => {
    for (const [name, store] of stores) {
      const told = await store.news?.(cursors.get(name) ?? null);
      if (!told) continue;
      for (const one of told.news) pipeline.changedElsewhere(one);
      cursors.set(name, told.cursor);
    }
    await processes?.settle();
  };
}
