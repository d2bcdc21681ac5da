import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { readPackDetail } from './pack-detail.ts';
import { type ParsedKey, parsePackKey } from './pack-key.ts';
import type { ListedObject } from './s3-bucket.ts';

/** Milliseconds. No write takes so long: what is older and in no row never will be in one. */
export const LONGEST_WRITE = 3_600_000;

/** Keys of objects that no row names. Keys that are not ours, and objects of stores that the database does not know, stay. */
export async function findUnlisted(
  database: Database,
  store: string,
  prefix: string,
  objects: readonly ListedObject[],
  now: number,
): Promise<string[]> {
  const old = objects.flatMap(({ key, modifiedAt }) => {
    const parsed = modifiedAt < now - LONGEST_WRITE ? parsePackKey(prefix, key) : null;
    return parsed ? [{ key, ...parsed }] : [];
  });
  if (old.length === 0) return [];
  const named = await objectsNamed(database, store, old);
  return old.flatMap(({ key, object }, at) => (named.get(at)?.has(object) === false ? [key] : []));
}

/** For each place the objects that its row names; none for tile sets that are not this store's. */
async function objectsNamed(
  database: Database,
  store: string,
  places: readonly ParsedKey[],
): Promise<ReadonlyMap<number, ReadonlySet<number>>> {
  const query = sql<{ at: number; detail: Buffer | null; slots: number }>`
    select w.at::int - 1 as at, p.detail, s.columns * s.rows as slots
    from unnest(${places.map(({ id }) => id)}::int[], ${places.map(({ z }) => z)}::smallint[],
      ${places.map(({ x }) => x)}::int[], ${places.map(({ y }) => y)}::int[]) with ordinality w (set, z, x, y, at)
    join tile_sets s on s.id = w.set and s.store = ${store}
    left join packs p on p.tile_set = w.set and p.z = w.z and p.band = w.y >> 5 and p.x = w.x and p.y = w.y`;
  const { rows } = await query.execute(database.query);
  return new Map(rows.map(({ at, detail, slots }) => [at, objectsIn(detail, slots)]));
}

function objectsIn(detail: Buffer | null, slots: number): ReadonlySet<number> {
  return new Set(detail ? readPackDetail(detail, slots).map(({ object }) => object) : []);
}
