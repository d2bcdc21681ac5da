import type { Database } from '../db/database.ts';
import type { RowOf, Schema } from '../db/schema.ts';
import type { Env } from '../lib/env.ts';
import type { Logger } from '../lib/logger.ts';
import { openRepeater } from '../lib/repeat.ts';
import { createAppliedChanges } from './applied-changes.ts';

export type NodeRole = 'serve' | 'worker';

export interface NodeEntry {
  readonly name: string;
  readonly roles: readonly NodeRole[];
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly seenAt: number;
  /** Whether it runs the quota, schedules and clean-up for all. */
  readonly leader: boolean;
  readonly address: string | null;
}

interface NodeRegistryOptions extends Env {
  readonly database: Database;
  /** Identifies this run of the node. */
  readonly instance: string;
  readonly self: Pick<NodeEntry, 'name' | 'roles' | 'version'>;
}

export interface NodeRegistry {
  /** By name, including nodes that have been gone for up to a minute. */
  list(): Promise<readonly NodeEntry[]>;
  listening(name: string, address: string): Promise<void>;
  leads(leads: boolean): void;
  /** This node has applied all changes below this number of the database. */
  changesApplied(below: number): Promise<void>;
  /** That number of each other node, except for nodes whose row this process has not seen change for `ms`. */
  changesAppliedByOthers(ms: number): Promise<readonly number[]>;
  close(): Promise<void>;
}

/** Milliseconds between heartbeats; a node without one for a lease is gone. */
export const HEARTBEAT = 5000;
export const LEASE = 15_000;
/** Milliseconds for which a gone node is still listed. */
const SHOWN_FOR = 60_000;

/** Lists this node among those that share the database, until it is closed. */
export async function openNodeRegistry(options: NodeRegistryOptions): Promise<NodeRegistry> {
  const { database, self, clock, log } = options;
  const startedAt = await database.now();
  if (database.dialect === 'sqlite') return aloneSince(startedAt, options);
  const row: Schema['nodes'] = {
    instance: options.instance,
    name: self.name,
    roles: JSON.stringify(self.roles),
    version: self.version,
    address: null,
    started_at: startedAt,
    seen_at: startedAt,
    leader: 0,
    applied_at: 0,
    applied: 0,
  };
  let leaving = false;
  const { changesAppliedByOthers } = createAppliedChanges(database, options.instance, clock);

  async function beat(): Promise<void> {
    row.seen_at = await database.now();
    const { instance, ...rest } = row;
    await database.transaction('nodes', async (query) => {
      // A heartbeat that is still pending when the node leaves would list it again.
      if (leaving) return;
      const longAgo = row.seen_at - SHOWN_FOR;
      await query.deleteFrom('node_flights').where('expires_at', '<', longAgo).execute();
      await query.deleteFrom('nodes').where('seen_at', '<', longAgo).execute();
      if (row.leader === 1) {
        await query.updateTable('nodes').set({ leader: 0 }).where('instance', '!=', instance).execute();
      }
      await query
        .insertInto('nodes')
        .values(row)
        .onConflict((conflict) => conflict.column('instance').doUpdateSet(rest))
        .execute();
    });
    await changesAppliedByOthers(0);
  }

  await warnOfNamesake(database, row, log);
  await beat();
  const beats = openRepeater(beat, {
    clock,
    log,
    pause: HEARTBEAT,
    pauseFirst: true,
    failure: 'the heartbeat of this node could not be written',
  });
  return {
    async list() {
      const rows = await database.query.selectFrom('nodes').selectAll().orderBy('name').execute();
      const now = await database.now();
      const isReplaced = ({ name, seen_at, started_at }: RowOf<'nodes'>) =>
        now - seen_at > 2 * HEARTBEAT && rows.some((row) => row.name === name && row.started_at > started_at);
      return rows.filter((row) => !isReplaced(row)).map((row) => nodeEntry(row, now));
    },
    async listening(name, address) {
      Object.assign(row, { name, address });
      await beat();
    },
    async changesApplied(below) {
      const applied = { applied_at: await database.now(), applied: below };
      Object.assign(row, applied);
      const own = database.change.updateTable('nodes').set(applied).where('instance', '=', row.instance);
      // Other nodes have removed the row of this one while it was suspended, and would not wait for it.
      if ((await own.executeTakeFirst()).numUpdatedRows === 0n) await beat();
    },
    changesAppliedByOthers,
    leads(leads) {
      row.leader = leads ? 1 : 0;
      beats.wake();
    },
    async close() {
      leaving = true;
      await beats.close();
      await database
        .transaction('nodes', (query) =>
          query.deleteFrom('nodes').where('instance', '=', row.instance).execute(),
        )
        .catch(() => {});
    },
  };
}

/** The registry for a database in the data folder, which has no other node. */
function aloneSince(startedAt: number, { self, clock }: NodeRegistryOptions): NodeRegistry {
  let reached: Pick<NodeEntry, 'name' | 'address'> = { name: self.name, address: null };
  return {
    list: async () => [{ ...self, ...reached, startedAt, seenAt: clock.now(), leader: true }],
    async listening(name, address) {
      reached = { name, address };
    },
    leads() {},
    async changesApplied() {},
    changesAppliedByOthers: async () => [],
    async close() {},
  };
}

async function warnOfNamesake(
  database: Database,
  { name, seen_at }: Schema['nodes'],
  log: Logger,
): Promise<void> {
  const namesake = await database.query
    .selectFrom('nodes')
    .select('instance')
    .where('name', '=', name)
    .where('seen_at', '>', seen_at - LEASE)
    .executeTakeFirst();
  if (namesake) log.info({ node: name }, 'another node used this name recently; set another one with --node');
}

function nodeEntry(row: RowOf<'nodes'>, now: number): NodeEntry {
  return {
    name: row.name,
    roles: JSON.parse(row.roles) as readonly NodeRole[],
    version: row.version,
    startedAt: row.started_at,
    seenAt: row.seen_at,
    leader: row.leader === 1 && now - row.seen_at < LEASE,
    address: row.address,
  };
}
