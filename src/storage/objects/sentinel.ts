import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { askIndex } from '../index/postgres/ask-index.ts';
import type { PackIndex } from '../index/postgres/pack-index.ts';
import type { ObjectStore } from './object-store.ts';

interface SentinelOptions {
  readonly bucket: Pick<ObjectStore, 'get' | 'put' | 'list'>;
  readonly prefix: string;
  readonly database: Database;
  readonly name: string;
  readonly index: Pick<PackIndex, 'isEmpty'>;
}

/** The range of `randomInt` must be below 2^48. */
const MAX_ID = 2 ** 47;

export function sentinelKey(prefix: string): string {
  return `${prefix}tilewarden-store.json`;
}

/** The sentinel: an object with a number that the database has too, which proves that they belong together. */
export function createSentinel({ bucket, prefix, database, name, index }: SentinelOptions) {
  const key = sentinelKey(prefix);
  const counter = `store:${name}`;
  /** Set if the store had objects before this database listed any: another database lists or listed them. */
  const adopted = `adopted-store:${name}`;

  async function recordedId(which = counter): Promise<number | null> {
    const query = sql<{ value: number }>`select value from counters where name = ${which}`;
    return (await askIndex(() => query.execute(database.query))).rows[0]?.value ?? null;
  }

  /** Records a number unless one is recorded. Returns the recorded one. */
  async function recordId(id: number, which = counter): Promise<number> {
    const insert = sql`insert into counters (name, value) values (${which}, ${id}) on conflict do nothing`;
    await askIndex(() => insert.execute(database.change));
    return (await recordedId(which)) ?? id;
  }

  async function hasUnlisted(): Promise<boolean> {
    return (await index.isEmpty()) && (await bucket.list(prefix, null)).objects.length > 0;
  }

  async function idInStore(): Promise<number | null> {
    const bytes = await bucket.get(key);
    if (!bytes) return null;
    try {
      const { store } = JSON.parse(bytes.toString()) as { readonly store?: unknown };
      return typeof store === 'number' ? store : null;
    } catch {
      return null;
    }
  }

  return {
    problem,
    /** Whether this database, or the one whose backup it was restored from, has listed all objects since the first. */
    async listsAll(): Promise<boolean> {
      return (await problem()) === null && (await recordedId(adopted)) === null;
    },
  };

  /** Why the object store is the wrong one; null if it is right. Creates a missing sentinel. Throws without a response. */
  async function problem(): Promise<string | null> {
    // Read in this order, because another node that starts concurrently records the number before it writes the object.
    const there = await idInStore();
    const expected = await recordedId();
    if (expected !== null && expected === there) return null;
    if (expected === null || (there === null && (await index.isEmpty()))) {
      if (expected === null && (there !== null || (await hasUnlisted()))) await recordId(1, adopted);
      const id = expected ?? (await recordId(there ?? randomInt(1, MAX_ID)));
      if (id !== there) await bucket.put(key, Buffer.from(`${JSON.stringify({ store: id })}\n`));
      return null;
    }
    const what = there === null ? `has no object ${key}` : `belongs to another store, by its object ${key}`;
    return `The object store of ${name} ${what}, so it is not the one whose objects the database lists. Check endpoint, prefix and bucket or container.`;
  }
}
