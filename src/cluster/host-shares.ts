/** Divides the places of a host (its concurrent requests) among nodes, in the database: `HostShares` of `sources/upstream`. */
import type { Database, Statements } from '../db/database.ts';
import type { RowOf } from '../db/schema.ts';
import type { ShareWish } from '../domain/upstream-status.ts';

const CHANNEL = 'host-shares';
/** Milliseconds for which a share is valid without renewal. */
const LEASE = 15_000;
/** Milliseconds after which the remainder of a division goes to the next node. */
const TURN = 2000;

type Claim = Pick<RowOf<'node_shares'>, 'instance' | 'wanted' | 'urgent'> & { readonly spare?: number };

export function createHostShares(database: Database, instance: string) {
  return {
    async renew(name: string, { limit, wanted, urgent, spare, held }: ShareWish) {
      const now = await database.now();
      const { notifies, ...share } = await database.transaction(`share ${name}`, async (query) => {
        const rows = await sharesOf(query, name, now);
        const others = rows.filter((row) => row.instance !== instance);
        const before = rows.find((row) => row.instance === instance)?.places ?? 0;
        const targets = allot(
          [...others, { instance, wanted, urgent, spare }],
          limit,
          Math.floor(now / TURN),
        );
        const target = targets.get(instance) ?? 0;
        const taken = others.reduce((sum, { places }) => sum + places, 0);
        const places = Math.min(target, Math.max(0, limit - taken));
        // Requests in flight keep their places until they end, even above the share.
        const kept = Math.max(held, places);
        await write(query, { name, instance, wanted, urgent, places: kept, expires_at: now + LEASE });
        const waitedFor =
          kept < before && others.some((row) => row.places < (targets.get(row.instance) ?? 0));
        return { places, alone: others.length === 0, notifies: places < target || waitedFor };
      });
      if (notifies) await database.notify(CHANNEL);
      return share;
    },
    listen: (changed: () => void) => database.listen(CHANNEL, changed),
  };
}

/** Frees the places of a process that has ended, for the others. */
export async function releaseShares(database: Database, instance: string): Promise<void> {
  await database.change.deleteFrom('node_shares').where('instance', '=', instance).execute();
  await database.notify(CHANNEL);
}

/** At a start, when no former process can be alive: its places, claims and outages would count until they expire. */
export async function forgetFormerProcesses({ change }: Pick<Database, 'change'>): Promise<void> {
  for (const table of ['node_shares', 'node_flights', 'host_outages'] as const)
    await change.deleteFrom(table).execute();
}

async function sharesOf(query: Statements, name: string, now: number) {
  await query.deleteFrom('node_shares').where('expires_at', '<', now).execute();
  return query.selectFrom('node_shares').selectAll().where('name', '=', name).orderBy('instance').execute();
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
  const { wanted, urgent, places, expires_at } = row;
  await query
    .insertInto('node_shares')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['name', 'instance']).doUpdateSet({ wanted, urgent, places, expires_at }),
    )
    .execute();
}

/**
 * Places that clients wait for (`urgent`) come first, then all `wanted` ones, then those kept for a next request
 * (`spare`). A node gets all it wants of a kind if there are enough, otherwise an equal part; the remainder rotates.
 */
export function allot(claims: readonly Claim[], limit: number, turn: number): ReadonlyMap<string, number> {
  const sorted = [...claims].sort((a, b) => (a.instance < b.instance ? -1 : 1));
  const shares = new Map(sorted.map(({ instance }) => [instance, 0]));
  let left = limit;
  for (const most of [
    (claim: Claim) => claim.urgent,
    (claim: Claim) => claim.wanted,
    ({ wanted, spare = 0 }: Claim) => Math.max(wanted, spare),
  ]) {
    left -= divide(sorted, most, shares, left, turn);
  }
  return shares;
}

/** Adds up to `limit` places to `shares`, at most `most` per node. Returns how many it has added. */
function divide(
  claims: readonly Claim[],
  most: (claim: Claim) => number,
  shares: Map<string, number>,
  limit: number,
  turn: number,
): number {
  const missing = (claim: Claim) => most(claim) - (shares.get(claim.instance) ?? 0);
  const give = ({ instance }: Claim, more: number) => {
    shares.set(instance, (shares.get(instance) ?? 0) + more);
    return more;
  };
  let left = limit;
  for (;;) {
    const waiting = claims.filter((claim) => missing(claim) > 0);
    if (waiting.length === 0 || left === 0) return limit - left;
    const each = Math.floor(left / waiting.length);
    for (const [at, claim] of waiting.entries()) {
      // With fewer places than nodes, the turn selects the nodes.
      const hasTurn = (at - (turn % waiting.length) + waiting.length) % waiting.length < left;
      if (each > 0) left -= give(claim, Math.min(each, missing(claim)));
      else if (hasTurn) give(claim, 1);
    }
    if (each === 0) return limit;
  }
}
