import type { Database, Statements } from '../db/database.ts';
import type { RowOf } from '../db/schema.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { hashSecret } from './api-token.ts';
import { dayName, dayOf, keyScope } from './key-limits.ts';
import { checkReaderKey, createReaderSecret, type ReaderKey, type ReaderKeyDraft } from './reader-key.ts';

const LOCK = 'reader-keys';
const MAX_KEYS = 100_000;

/** Uses of a key that are not in the database yet. */
export interface RecentUse {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly answered: number;
}

/** Reader keys in the database. Only hashes of the keys are stored. */
export function createReaderKeyStore(database: Database, clock: Clock) {
  return {
    /** Returns the secret, which is not stored. Throws `request-invalid` or `account-conflict`. */
    async create(draft: ReaderKeyDraft, createdBy: string) {
      const [now, secret] = [clock.now(), createReaderSecret()];
      checkReaderKey(draft, now);
      const row = {
        name: draft.name,
        hash: hashSecret(secret),
        layers: JSON.stringify(draft.layers),
        areas: draft.areas && JSON.stringify(draft.areas),
        origins: draft.origins && JSON.stringify(draft.origins),
        rate_per_second: draft.ratePerSecond,
        requests_per_day: draft.requestsPerDay,
        expires_at: draft.expiresAt,
        created_by: createdBy,
        created_at: now,
        used_day: 0,
        used: 0,
      };
      const key = await database.transaction(LOCK, async (query) => {
        if ((await countKeys(query)) >= MAX_KEYS)
          throw new TilewardenError('account-conflict', 'There are too many keys.');
        const stored = await query
          .insertInto('reader_keys')
          .values(row)
          .returningAll()
          .executeTakeFirstOrThrow();
        return readerKeyIn(stored, now);
      });
      return { key, secret };
    },

    /** Keys created after this one, oldest first. */
    async listAfter(id: number): Promise<readonly (ReaderKey & { readonly hash: string })[]> {
      const now = clock.now();
      const rows = await database.query
        .selectFrom('reader_keys')
        .selectAll()
        .where('id', '>', id)
        .orderBy('id')
        .execute();
      const tallies = await database.query
        .selectFrom('budgets')
        .select(['scope', 'used'])
        .where('name', '=', dayName(dayOf(now)))
        .execute();
      const drawn = new Map(tallies.map(({ scope, used }) => [scope, used]));
      return rows.map((row) => {
        const key = readerKeyIn(row, now);
        const requestsToday = key.requestsToday + (drawn.get(keyScope(row.id)) ?? 0);
        return { ...key, requestsToday, hash: row.hash };
      });
    },

    async ids(): Promise<ReadonlySet<number>> {
      const rows = await database.query.selectFrom('reader_keys').select('id').execute();
      return new Set(rows.map(({ id }) => id));
    },

    count: (): Promise<number> => countKeys(database.query),

    /** Throws `account-unknown`. */
    remove: (id: number): Promise<ReaderKey> =>
      database.transaction(LOCK, async (query) => {
        const row = await query
          .deleteFrom('reader_keys')
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirst();
        if (row) return readerKeyIn(row, clock.now());
        throw new TilewardenError('account-unknown', 'There is no such key.');
      }),

    /** `answered` is 0 for a key with a daily limit: its budget counts the requests. */
    async markUsed(uses: ReadonlyMap<number, RecentUse>): Promise<void> {
      const day = dayOf(clock.now());
      await database.transaction(LOCK, async (query) => {
        for (const [id, { at, answered }] of uses) {
          // The first use of a day replaces the count of another day.
          await query
            .updateTable('reader_keys')
            .set((eb) => ({
              used: eb
                .case()
                .when('used_day', '=', day)
                .then(eb('used', '+', answered))
                .else(answered)
                .end(),
              used_day: day,
              last_used_at: at,
            }))
            .where('id', '=', id)
            .execute();
        }
      });
    },
  };
}

async function countKeys(query: Statements): Promise<number> {
  const all = query.selectFrom('reader_keys').select(({ fn }) => fn.countAll<number>().as('count'));
  return (await all.executeTakeFirstOrThrow()).count;
}

function readerKeyIn(row: RowOf<'reader_keys'>, now: number): ReaderKey {
  return {
    id: row.id,
    name: row.name,
    layers: JSON.parse(row.layers) as string[],
    areas: row.areas === null ? null : (JSON.parse(row.areas) as string[]),
    origins: row.origins === null ? null : (JSON.parse(row.origins) as string[]),
    ratePerSecond: row.rate_per_second,
    requestsPerDay: row.requests_per_day,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    requestsToday: row.used_day === dayOf(now) ? row.used : 0,
  };
}
