/** The place of a process among the other processes of its server, and among the nodes that share its database. */
import { join } from 'node:path';
import type { ReaderKeys } from '../access/open-reader-keys.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { createNodeChanges } from '../cluster/node-changes.ts';
import { type NodeRole, openNodeRegistry } from '../cluster/node-registry.ts';
import type { Leadership } from '../cluster/terms.ts';
import { readVersion } from '../config/environment.ts';
import { isShared, nodeName, sharesStores } from '../config/node-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { leadAlone } from '../db/database.ts';
import { GONE, MISSED } from '../db/process-feed.ts';
import { misconfigured } from '../domain/errors.ts';
import type { Env } from '../lib/env.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { typesOf } from '../storage/drivers.ts';
import { type Store, TILE_CHANGES, type TileChange } from '../storage/store.ts';
import type { ProcessParts } from './open-process.ts';

/** Channels of the feed between the processes of a server. */
export const TILES = 'tiles';
export const CATALOG = 'catalog';
/** The configuration file was applied. */
export const CONFIG_FILE = 'config-file';
const KEYS = 'keys';

const LEADER_FILE = 'leader.db';

export type Membership = Awaited<ReturnType<typeof joinNodes>>;

/** Registers this process as a node of the database; throws if its stores or those of another server forbid it. */
export async function joinNodes(parts: ProcessParts, roles: readonly NodeRole[]) {
  const { settings, database, several, open, ...tools } = parts;
  // With several processes the parent holds it.
  if (settings.database !== null && !several)
    open.use(await lockDatabase(settings, settings.database, tools));
  const self = { name: nodeName(settings, settings.server.port, several), roles, version: readVersion() };
  const registry = open.use(await openNodeRegistry({ database, self, ...tools }));
  let leading = settings.database === null && !several;
  const { lead } = await openLead(parts, (leads) => {
    leading = leads;
    registry.leads(leads);
  });
  const staleMs = settings.memoryTier.staleSeconds * 1000;
  const peers = isShared(settings)
    ? createNodeChanges({ database, registry, channels: [TILE_CHANGES], staleMs, ...tools })
    : null;
  return { registry, lead, leads: () => leading, /** Null: there are no other nodes. */ peers };
}

async function openLead(
  { settings, several, clock, log, open }: ProcessParts,
  changed: (leads: boolean) => void,
): Promise<Pick<Leadership, 'lead'>> {
  const { database: location, data } = settings;
  const options = { clock, log, changed };
  if (location !== null) {
    const { openLeadership } = await import('../cluster/leadership.ts');
    return open.use(openLeadership({ location, ...options }));
  }
  if (!several) return { lead: leadAlone };
  const { openLocalLeadership } = await import('../cluster/terms.ts');
  return open.use(openLocalLeadership({ file: join(data, LEADER_FILE), ...options }));
}

/** Keeps other servers from a database whose stores cannot be shared. */
export async function lockDatabase(settings: Settings, location: string, { clock, log }: Env) {
  const { openServerLock } = await import('../cluster/server-lock.ts');
  const shared = sharesStores(settings);
  const lock = await openServerLock({ location, clock, log, shared });
  if (lock) return lock;
  throw misconfigured(
    `The database is in use by another Tilewarden server, and ${shared ? 'that server' : 'this server'} has local tile stores, which cannot be shared: each server would serve tiles that the other has removed. Stop the other server, choose another database with --database, or use stores of type ${typesOf('shared')} on all of them.`,
  );
}

interface Copies extends ProcessParts, Pick<Membership, 'peers'> {
  readonly pipeline: TilePipeline;
  readonly catalog: Pick<Catalog, 'stores'>;
}

/** Keeps this process in step with other nodes and other processes. */
export async function followOthers(
  { feed, several, peers, open, pipeline, catalog }: Copies,
  refreshCatalog: (from: 'node' | 'process') => Promise<void>,
) {
  /** Changes by this process, and how many of them all nodes obey. */
  let changeCount = 0;
  let obeyedCount = 0;
  let keysChanged = false;
  feed?.on(TILES, (change) => pipeline.changedElsewhere(change as TileChange, 'outdate'));
  feed?.on(CATALOG, () => refreshCatalog('process'));
  // Notices of other processes were lost: any of them may have changed anything.
  feed?.on(MISSED, () => {
    pipeline.changedElsewhere({ kind: 'everything' });
    return refreshCatalog('process');
  });
  // It may have stored tiles without announcing them. Nodes read what others have stored.
  if (!peers) feed?.on(GONE, () => pipeline.changedElsewhere({ kind: 'everything' }));
  if (feed || peers) {
    pipeline.guardCopies({
      isCurrent() {
        feed?.poll();
        return peers?.isCurrent() ?? true;
      },
      mayShow: async () => peers?.mayShow() ?? true,
      isAway: () => peers?.isAway() ?? false,
      forgotten(change) {
        changeCount++;
        // Otherwise the other processes are workers, which keep no tiles in memory.
        if (several) feed?.post(TILES, change);
      },
    });
  }
  if (peers) {
    peers.onChange(() => refreshCatalog('node'));
    peers.onChange(createChangeReader(catalog.stores(), pipeline));
    open.use(await peers.follow());
  }
  return {
    /** Keeps keys for readers in step with the other processes and nodes. */
    async followKeys(keys: ReaderKeys): Promise<void> {
      peers?.onChange(keys.refresh);
      await keys.refresh();
      for (const channel of [KEYS, MISSED]) feed?.on(channel, keys.refresh);
      keys.onChange(() => {
        changeCount++;
        keysChanged = true;
      });
    },
    /** Resolves when all processes and nodes obey earlier changes. */
    async obeyed(): Promise<void> {
      if (several) await feed?.posted();
      if (several && keysChanged) {
        keysChanged = false;
        await feed?.ask(KEYS);
      }
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
