import type { Database, Statements } from '../db/database.ts';
import { add, type Evicted } from './clean-up.ts';

/** What was removed for quotas, kept over restarts. */
export interface Evictions {
  add(evicted: Evicted, at: number): Promise<void>;
  /** Since the data folder was made. */
  readonly total: Evicted;
  /** Between two times, to within a few seconds; of the last month. Milliseconds since 1970. */
  between(from: number, to: number): Promise<Evicted>;
}

/** Milliseconds that one row stands for. */
const SLICE = 5000;
/** Milliseconds after which a row is added to the one that stands for all before. */
const KEEP = 30 * 86_400_000;
const LONG_AGO = 0;

/** Only the server removes tiles for quotas, so its sum is everybody's. */
export async function loadEvictions(database: Database): Promise<Evictions> {
  let total = await sumOf(database.query, LONG_AGO, Number.MAX_SAFE_INTEGER);
  return {
    async add(evicted, at) {
      total = add(total, evicted);
      await database.transaction('evictions', async (query) => {
        await addTo(query, Math.floor(at / SLICE) * SLICE, evicted);
        const old = await sumOf(query, LONG_AGO + 1, at - KEEP);
        if (old.pages === 0) return;
        await query
          .deleteFrom('evictions')
          .where('at', '>', LONG_AGO)
          .where('at', '<=', at - KEEP)
          .execute();
        await addTo(query, LONG_AGO, old);
      });
    },
    get total() {
      return total;
    },
    between: (from, to) => sumOf(database.query, Math.floor(from / SLICE) * SLICE, to),
  };
}

async function addTo(query: Statements, at: number, { pages, tiles, bytes }: Evicted): Promise<void> {
  await query
    .insertInto('evictions')
    .values({ at, pages, tiles, bytes })
    .onConflict((conflict) =>
      conflict.column('at').doUpdateSet((row) => ({
        pages: row('evictions.pages', '+', pages),
        tiles: row('evictions.tiles', '+', tiles),
        bytes: row('evictions.bytes', '+', bytes),
      })),
    )
    .execute();
}

async function sumOf(query: Statements, from: number, to: number): Promise<Evicted> {
  const sum = await query
    .selectFrom('evictions')
    .select(({ fn }) => [
      fn.sum('pages').as('pages'),
      fn.sum('tiles').as('tiles'),
      fn.sum('bytes').as('bytes'),
    ])
    .where('at', '>=', from)
    .where('at', '<=', to)
    .executeTakeFirst();
  return { pages: Number(sum?.pages ?? 0), tiles: Number(sum?.tiles ?? 0), bytes: Number(sum?.bytes ?? 0) };
}
