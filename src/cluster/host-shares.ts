import type { Database, Statements } from '../db/database.ts';
import type { RowOf } from '../db/schema.ts';

export interface ShareWish {
  readonly limit: number;
  readonly wanted: number;
  readonly held: number;
}

/** Milliseconds. */
const LEASE = 15_000;
/** The remainder of a division goes to one node after the other. */
const TURN = 2000;

type Claim = Pick<RowOf<'node_shares'>, 'instance' | 'wanted'>;

/** Divides places among nodes, in the database: see `HostShares` in `sources/upstream`. */
export function createHostShares(database: Database, instance: string) {
  return {
    renew: async (name: string, { limit, wanted, held }: ShareWish) => {
      const now = await database.now();
      return database.transaction(`share ${name}`, async (query) => {
        const others = await othersOf(query, name, instance, now);
        const target =
          allot([...others, { instance, wanted }], limit, Math.floor(now / TURN)).get(instance) ?? 0;
        const taken = others.reduce((sum, { places }) => sum + places, 0);
        const places = Math.min(target, Math.max(0, limit - taken));
        // Requests in flight keep their places until they end, though no further one may begin.
        const kept = Math.max(held, places);
        await write(query, { name, instance, wanted, places: kept, expires_at: now + LEASE });
        return { places, alone: others.length === 0 };
      });
    },
  };
}

async function othersOf(query: Statements, name: string, instance: string, now: number) {
  await query.deleteFrom('node_shares').where('expires_at', '<', now).execute();
  return query
    .selectFrom('node_shares')
    .selectAll()
    .where('name', '=', name)
    .where('instance', '!=', instance)
    .orderBy('instance')
    .execute();
}

async function write(query: Statements, row: RowOf<'node_shares'>): Promise<void> {
  if (row.places === 0 && row.wanted === 0) {
    await query
      .deleteFrom('node_shares')
      .where('name', '=', row.name)
      .where('instance', '=', row.instance)
      .execute();
    return;
  }
  const { wanted, places, expires_at } = row;
  await query
    .insertInto('node_shares')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['name', 'instance']).doUpdateSet({ wanted, places, expires_at }),
    )
    .execute();
}

/** Each node gets what it wants if there is enough, otherwise an equal part; the remainder rotates. */
export function allot(claims: readonly Claim[], limit: number, turn: number): ReadonlyMap<string, number> {
  const sorted = [...claims].sort((a, b) => (a.instance < b.instance ? -1 : 1));
  const shares = new Map(sorted.map(({ instance }) => [instance, 0]));
  let left = limit;
  for (;;) {
    const waiting = sorted.filter(({ instance, wanted }) => (shares.get(instance) ?? 0) < wanted);
    if (waiting.length === 0 || left === 0) return shares;
    const each = Math.floor(left / waiting.length);
    if (each === 0) {
      for (let i = 0; i < left; i++) {
        const next = waiting[(turn + i) % waiting.length];
        if (next) shares.set(next.instance, (shares.get(next.instance) ?? 0) + 1);
      }
      return shares;
    }
    for (const { instance, wanted } of waiting) {
      const has = shares.get(instance) ?? 0;
      const more = Math.min(each, wanted - has);
      shares.set(instance, has + more);
      left -= more;
    }
  }
}
