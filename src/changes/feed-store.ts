import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database, Statements } from '../db/database.ts';
import type { RowOf } from '../db/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { FeedState } from './change-options.ts';

/** An accepted change, or several that were applied together. */
export interface RecordedChange {
  readonly eventId: string | null;
  readonly merged: number;
  readonly layers: readonly string[];
  /** minX, minY, maxX, maxY in WGS 84; null: the whole layers. */
  readonly boxes: readonly (readonly number[])[] | null;
}

export interface FeedEntry {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface FeedRecord {
  readonly received: number;
  readonly applied: number;
  readonly changes: readonly RecordedChange[];
  /** Entries that are known from now on. */
  readonly entries?: readonly FeedEntry[];
  /** Time of the newest applied entry. */
  readonly newest?: number;
  /** Changes that wait behind these. */
  readonly pending?: number;
}

/** Milliseconds for which an event is known by its id, and a change is listed. */
const KEPT = 86_400_000;
/** Milliseconds after which an entry that its feed no longer has is forgotten. */
const ENTRY_KEPT = 30 * KEPT;
/** Milliseconds for which a change is recent. */
const RECENT = 3_600_000;
const MAX_RECENT = 500;
const ROWS_AT_ONCE = 200;
const ROWS_PER_TURN = 8;

export type FeedStore = ReturnType<typeof createFeedStore>;

export function createFeedStore(database: Database, clock: Pick<Clock, 'now'>) {
  const { query } = database;

  const changeRow = (feed: string, { eventId, merged, layers, boxes }: RecordedChange) => ({
    feed,
    at: clock.now(),
    event_id: eventId,
    merged,
    layers: JSON.stringify(layers),
    boxes: boxes && JSON.stringify(boxes),
  });

  async function insertChange(inside: Statements, feed: string, change: RecordedChange): Promise<number> {
    const row = await inside
      .insertInto('changes')
      .values(changeRow(feed, change))
      .onConflict((conflict) => conflict.columns(['feed', 'event_id']).doNothing())
      .returning('id')
      .executeTakeFirst();
    return row?.id ?? (await findEvent(inside, feed, change.eventId ?? ''))?.id ?? 0;
  }

  /** In few statements, unless they have ids of their senders. */
  async function insertChanges(inside: Statements, feed: string, changes: readonly RecordedChange[]) {
    const ids: number[] = [];
    for (let at = 0; at < changes.length; at += ROWS_PER_TURN) {
      if (at > 0) await nextTurn();
      const some = changes.slice(at, at + ROWS_PER_TURN);
      if (some.some(({ eventId }) => eventId !== null)) {
        for (const change of some) ids.push(await insertChange(inside, feed, change));
        continue;
      }
      const rows = await inside
        .insertInto('changes')
        .values(some.map((change) => changeRow(feed, change)))
        .returning('id')
        .execute();
      ids.push(...rows.map(({ id }) => id).sort((a, b) => a - b));
    }
    return ids;
  }

  async function insertEntries(inside: Statements, feed: string, entries: readonly FeedEntry[]) {
    const seen_at = clock.now();
    for (let at = 0; at < entries.length; at += ROWS_AT_ONCE) {
      const rows = entries.slice(at, at + ROWS_AT_ONCE).map((entry) => ({ feed, ...entry, seen_at }));
      await inside
        .insertInto('change_entries')
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(['feed', 'id']).doUpdateSet((eb) => ({
            at: eb.ref('excluded.at'),
            seen_at: eb.ref('excluded.seen_at'),
          })),
        )
        .execute();
    }
  }

  return {
    /** Inserts the feed's row if it is missing. */
    async prepare(name: string): Promise<void> {
      await database.change
        .insertInto('change_feeds')
        .values({ name, state: 'ok', received: 0, applied: 0, pending: 0 })
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute();
    },

    rows: (): Promise<readonly RowOf<'change_feeds'>[]> =>
      query.selectFrom('change_feeds').selectAll().execute(),

    event: (feed: string, eventId: string) => findEvent(query, feed, eventId),

    async entryTimes(feed: string, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
      const times = new Map<string, number>();
      for (let at = 0; at < ids.length; at += ROWS_AT_ONCE) {
        const rows = await query
          .selectFrom('change_entries')
          .select(['id', 'at'])
          .where('feed', '=', feed)
          .where('id', 'in', ids.slice(at, at + ROWS_AT_ONCE))
          .execute();
        for (const row of rows) times.set(row.id, row.at);
      }
      return times;
    },

    /** Id of the latest entry; null: none. */
    async newestEntry(feed: string): Promise<string | null> {
      const row = await query
        .selectFrom('change_entries')
        .select('id')
        .where('feed', '=', feed)
        .orderBy('at', 'desc')
        .limit(1)
        .executeTakeFirst();
      return row?.id ?? null;
    },

    /** Confirms entries that are still in the feed, and forgets those without confirmation for a month. */
    async entriesSeen(feed: string, ids: readonly string[]): Promise<void> {
      const now = clock.now();
      await database.transaction('changes', async (inside) => {
        for (let at = 0; at < ids.length; at += ROWS_AT_ONCE) {
          await inside
            .updateTable('change_entries')
            .set({ seen_at: now })
            .where('feed', '=', feed)
            .where('id', 'in', ids.slice(at, at + ROWS_AT_ONCE))
            .execute();
        }
        await inside
          .deleteFrom('change_entries')
          .where('seen_at', '<', now - ENTRY_KEPT)
          .execute();
      });
    },

    /** Durable when it resolves. Returns the ids of the changes; of an event that is there already, its first id. */
    record: (feed: string, { received, applied, changes, entries = [], newest, pending }: FeedRecord) =>
      database.transaction('changes', async (inside) => {
        const now = clock.now();
        await inside
          .deleteFrom('changes')
          .where('at', '<', now - KEPT)
          .execute();
        const ids = await insertChanges(inside, feed, changes);
        await insertEntries(inside, feed, entries);
        await inside
          .updateTable('change_feeds')
          .set((eb) => ({
            received: eb('received', '+', received),
            applied: eb('applied', '+', applied),
            last_at: applied > 0 ? now : undefined,
            newest,
            pending,
          }))
          .where('name', '=', feed)
          .execute();
        return ids;
      }),

    async state(feed: string) {
      const row = await query
        .selectFrom('change_feeds')
        .select(['state', 'last_error', 'newest'])
        .where('name', '=', feed)
        .executeTakeFirst();
      const state: FeedState = row?.state === 'failing' ? 'failing' : 'ok';
      return { state, error: row?.last_error ?? null, newest: row?.newest ?? null };
    },

    async set(
      feed: string,
      values:
        | { readonly state: FeedState; readonly last_error: string | null }
        | { readonly pending: number },
    ): Promise<void> {
      await database.change.updateTable('change_feeds').set(values).where('name', '=', feed).execute();
    },

    recent: (feed: string) => recentBefore(feed, Number.MAX_SAFE_INTEGER),
    /** All of the last hour, newest first, some at a time. */
    async *eachRecent(feed: string): AsyncGenerator<Awaited<ReturnType<typeof recentBefore>>> {
      for (let before: number | undefined = Number.MAX_SAFE_INTEGER; before !== undefined; ) {
        const some: Awaited<ReturnType<typeof recentBefore>> = await recentBefore(feed, before);
        yield some;
        before = some.at(-1)?.id;
      }
    },
  };

  async function recentBefore(feed: string, id: number) {
    const rows = await query
      .selectFrom('changes')
      .selectAll()
      .where('feed', '=', feed)
      .where('at', '>=', clock.now() - RECENT)
      .where('id', '<', id)
      .orderBy('id', 'desc')
      .limit(MAX_RECENT)
      .execute();
    return rows.map(({ layers, boxes, ...row }) => ({
      ...row,
      layers: JSON.parse(layers) as readonly string[],
      boxes: boxes === null ? null : (JSON.parse(boxes) as readonly (readonly number[])[]),
    }));
  }

  /** Within a day. */
  async function findEvent(from: Statements, feed: string, eventId: string) {
    const row = await from
      .selectFrom('changes')
      .select('id')
      .where('feed', '=', feed)
      .where('event_id', '=', eventId)
      .where('at', '>=', clock.now() - KEPT)
      .executeTakeFirst();
    return row ?? null;
  }
}
