import { randomUUID } from 'node:crypto';
import type { Database, Statements } from '../../db/database.ts';
import type { RowOf } from '../../db/schema.ts';
import { PurgeKeys, type PurgePayload } from './purge-keys.ts';

export const DELIVERY_KINDS = ['purge', 'notification'] as const;
export type DeliveryKind = (typeof DELIVERY_KINDS)[number];

/**
 *   state       from                              to
 *   pending     recorded                          delivered when the target has accepted it; failed after 24 hours
 *   delivered   pending                           –
 *   failed      pending, after its last attempt   –
 */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface Delivery {
  readonly number: number;
  readonly id: string;
  readonly kind: DeliveryKind;
  readonly name: string;
  readonly state: DeliveryState;
  readonly payload: unknown;
  readonly revision: number;
  readonly attempts: number;
  readonly lastError: string | null;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Null while it is pending. */
  readonly endedAt: number | null;
  readonly until: number;
}

/** The subject of a notification: it is reported once, until it has recovered. */
export interface Reported {
  readonly subject: string;
  readonly againAfter?: number | null;
}

export type TargetName = Pick<Delivery, 'kind' | 'name'>;

/** Listeners send deliveries that are due. */
export const DELIVERIES_WAITING = 'deliveries';
const LOCK = 'deliveries';
/** Milliseconds after which a delivery is given up. */
const LIFETIME = 86_400_000;
/** Milliseconds until the next attempt: the first, and the longest. */
const FIRST_PAUSE = 1000;
const MAX_PAUSE = 60_000;
/** Limit of waiting notifications per target; the oldest are given up. */
const MAX_WAITING = 1000;
/** Deliveries that are over and still listed. */
const MAX_KEPT = 1000;
const MAX_LISTED = 1000;
/** Payload of finished deliveries. */
const NO_PAYLOAD = '{}';
/** Begins subjects that never recover, such as a task that has failed. */
export const ONCE = 'once:';
/** Milliseconds for which these are remembered: longer than tasks that have ended are searched for. */
const ONCE_KEPT = 8 * LIFETIME;

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

/** The queue in the database, shared by all nodes. Recorded deliveries survive the end of any process. */
export function createDeliveryStore(database: Database, maxWaiting = MAX_WAITING) {
  const { query } = database;
  /** In a transaction, which waits for other writers. */
  const change = <Result>(work: (inside: Statements) => Promise<Result>) => database.transaction(LOCK, work);

  const pending = (inside: Statements, { kind, name }: TargetName) =>
    inside
      .selectFrom('deliveries')
      .selectAll()
      .where('state', '=', 'pending')
      .where('kind', '=', kind)
      .where('name', '=', name);

  async function mergePurge(inside: Statements, name: string, payload: PurgePayload, now: number) {
    const waiting = await pending(inside, { kind: 'purge', name }).executeTakeFirst();
    if (!waiting) return insert(inside, { kind: 'purge', name }, payload, now);
    const keys = new PurgeKeys();
    keys.merge(JSON.parse(waiting.payload) as PurgePayload);
    keys.merge(payload);
    const merged = {
      payload: JSON.stringify(keys.take()),
      revision: waiting.revision + 1,
      until: now + LIFETIME,
      next_at: Math.min(waiting.next_at, now + FIRST_PAUSE),
    };
    await inside.updateTable('deliveries').set(merged).where('number', '=', waiting.number).execute();
  }

  /** Gives up the oldest ones beyond `maxWaiting`. */
  async function insertNotification(inside: Statements, name: string, payload: object, now: number) {
    await insert(inside, { kind: 'notification', name }, payload, now);
    const surplus = await pending(inside, { kind: 'notification', name })
      .orderBy('number', 'desc')
      .offset(maxWaiting)
      .limit(maxWaiting)
      .execute();
    for (const { number } of surplus) {
      const last_error = `Given up: more than ${maxWaiting} notifications wait for this target.`;
      const ending = { state: 'failed', last_error };
      await inside.updateTable('deliveries').set(ending).where('number', '=', number).execute();
    }
  }

  /** In a transaction; wakes the sender unless `work` resolves to false. */
  async function record(work: (inside: Statements, now: number) => Promise<unknown>): Promise<void> {
    const now = await database.now();
    const changed = await change((inside) => work(inside, now));
    if (changed !== false) await database.notify(DELIVERIES_WAITING);
  }

  /** Ends a delivery, unless its payload has changed since it was sent: then it is due again, as if it were new. */
  async function end({ number, revision }: Delivery, values: { state: DeliveryState; attempts: number }) {
    const next_at = await database.now();
    const again = { attempts: 0, last_error: null, next_at };
    await change(async (inside) => {
      const row = inside.updateTable('deliveries').where('number', '=', number);
      const over = { ...values, payload: NO_PAYLOAD, next_at };
      const ended = await row.set(over).where('revision', '=', revision).executeTakeFirst();
      if (ended.numUpdatedRows === 0n) await row.set(again).execute();
    });
  }

  return {
    /** Pending purges of a target are one: it grows no further than `PurgeKeys` does. */
    purge: (names: readonly string[], payload: PurgePayload): Promise<void> =>
      record(async (inside, now) => {
        for (const name of names) await mergePurge(inside, name, payload, now);
      }),

    /** Records the notification unless `subject` has been reported before, and not longer than `againAfter` milliseconds ago. */
    report: (names: readonly string[], payload: object, { subject, againAfter = null }: Reported) =>
      record(async (inside, now) => {
        const last = await reportedAt(inside, subject);
        if (last !== null && (againAfter === null || now - last < againAfter)) return false;
        await inside.deleteFrom('reported_states').where('subject', '=', subject).execute();
        await inside.insertInto('reported_states').values({ subject, at: now }).execute();
        for (const name of names) await insertNotification(inside, name, payload, now);
        return true;
      }),

    /** Lets the subject be reported again; the notification is recorded only if it had been. */
    async recovered(names: readonly string[], payload: object | null, subject: string): Promise<void> {
      if ((await reportedAt(query, subject)) === null) return;
      await record(async (inside, now) => {
        const gone = inside.deleteFrom('reported_states').where('subject', '=', subject);
        const { numDeletedRows } = await gone.executeTakeFirst();
        if (numDeletedRows === 0n || !payload) return;
        for (const name of names) await insertNotification(inside, name, payload, now);
      });
    },

    /** When the subject was first requested. */
    async since(subject: string): Promise<number> {
      const now = await database.now();
      return change(async (inside) => {
        const known = await reportedAt(inside, subject);
        if (known === null) await inside.insertInto('reported_states').values({ subject, at: now }).execute();
        return known ?? now;
      });
    },

    async due(target: TargetName): Promise<Delivery | null> {
      const row = await pending(query, target)
        .where('next_at', '<=', await database.now())
        .orderBy('next_at')
        .orderBy('number')
        .executeTakeFirst();
      return row ? deliveryOf(row) : null;
    },

    delivered: (delivery: Delivery): Promise<void> =>
      end(delivery, { state: 'delivered', attempts: delivery.attempts + 1 }),

    async failed({ number, attempts, until, revision }: Delivery, lastError: string): Promise<void> {
      const now = await database.now();
      const next_at = now + Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** Math.min(attempts, 10));
      const values = { attempts: attempts + 1, last_error: lastError, next_at };
      await change(async (inside) => {
        const row = inside.updateTable('deliveries').where('number', '=', number);
        await row.set(values).execute();
        if (next_at <= until) return;
        // Unless it has newer keys.
        const over = { state: 'failed', payload: NO_PAYLOAD };
        await row.set(over).where('revision', '=', revision).execute();
      });
    },

    /** Newest first. */
    async list(): Promise<readonly Delivery[]> {
      const rows = await query
        .selectFrom('deliveries')
        .selectAll()
        .orderBy('number', 'desc')
        .limit(MAX_LISTED)
        .execute();
      return rows.map(deliveryOf);
    },

    async counts(): Promise<
      readonly (TargetName & { readonly state: DeliveryState; readonly count: number })[]
    > {
      const rows = await query
        .selectFrom('deliveries')
        .select(['kind', 'name', 'state', ({ fn }) => fn.countAll<number>().as('count')])
        .groupBy(['kind', 'name', 'state'])
        .execute();
      return rows.map((row) => ({
        ...row,
        kind: row.kind as DeliveryKind,
        state: row.state as DeliveryState,
        count: Number(row.count),
      }));
    },

    /** Deletes finished deliveries except the newest, and gives up those to targets that are no longer declared. */
    async forget(declared: readonly TargetName[]): Promise<void> {
      const before = (await database.now()) - ONCE_KEPT;
      await change((inside) =>
        inside
          .deleteFrom('reported_states')
          .where('subject', 'like', `${ONCE}%`)
          .where('at', '<', before)
          .execute(),
      );
      const over = await query
        .selectFrom('deliveries')
        .select('number')
        .where('state', '!=', 'pending')
        .orderBy('number', 'desc')
        .offset(MAX_KEPT)
        .limit(1)
        .executeTakeFirst();
      const names = new Set(declared.map(({ kind, name }) => `${kind} ${name}`));
      const gone = (await this.counts()).filter(
        ({ kind, name, state }) => state === 'pending' && !names.has(`${kind} ${name}`),
      );
      if (!over && gone.length === 0) return;
      await change(async (inside) => {
        const old = inside.deleteFrom('deliveries').where('state', '!=', 'pending');
        await old.where('number', '<=', over?.number ?? 0).execute();
        const ending = { state: 'failed', last_error: 'The configuration no longer declares this target.' };
        for (const { kind, name } of gone) {
          const rows = inside.updateTable('deliveries').set(ending).where('state', '=', 'pending');
          await rows.where('kind', '=', kind).where('name', '=', name).execute();
        }
      });
    },
  };
}

async function insert(inside: Statements, target: TargetName, payload: object, now: number): Promise<void> {
  const times = { at: now, next_at: now, until: now + LIFETIME };
  const row = { ...target, ...times, id: randomUUID(), payload: JSON.stringify(payload) };
  await inside
    .insertInto('deliveries')
    .values({ ...row, state: 'pending', revision: 0, attempts: 0, last_error: null })
    .execute();
}

async function reportedAt(inside: Statements, subject: string): Promise<number | null> {
  const reported = inside.selectFrom('reported_states').select('at').where('subject', '=', subject);
  return (await reported.executeTakeFirst())?.at ?? null;
}

function deliveryOf(row: RowOf<'deliveries'>): Delivery {
  const { last_error: lastError, next_at: nextAt, payload, ...same } = row;
  return {
    ...same,
    endedAt: row.state === 'pending' ? null : nextAt,
    kind: row.kind as DeliveryKind,
    state: row.state as DeliveryState,
    payload: JSON.parse(payload),
    lastError,
  };
}
