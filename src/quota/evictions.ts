import type { Database, Statements } from '../db/database.ts';
import { add, type Evicted, NOTHING_EVICTED, sumOf } from './clean-up.ts';

export interface EvictedHour extends Evicted {
  readonly layer: string;
  /** When the hour began. Milliseconds since 1970. */
  readonly at: number;
}

/** Milliseconds of one row: of all layers together, and of each layer. */
const SLICE = 5000;
const HOUR = 3_600_000;
/** Milliseconds after which a row is added to the sum of all earlier ones, whose time is `LONG_AGO`. */
const KEEP = 31 * 86_400_000;
const LONG_AGO = 0;
/** No layer is called so: rows of all layers together. */
const ALL = '';
const COUNTS = ['pages', 'tiles', 'bytes'] as const;

export type Evictions = Awaited<ReturnType<typeof loadEvictions>>;

/** Evicted tiles and bytes, in the database. One node at a time evicts; the others read its sums. */
export async function loadEvictions(database: Database) {
  let sums = new Map<string, Evicted>();
  async function refresh(): Promise<void> {
    sums = await sumsBetween(database.query, LONG_AGO, Number.MAX_SAFE_INTEGER);
  }
  await refresh();
  const rowsSince = (layers: '=' | '<>', from: number): Promise<readonly EvictedHour[]> =>
    database.query
      .selectFrom('evictions')
      .select(['layer', 'at', ...COUNTS])
      .where('layer', layers, ALL)
      .where('at', '>', LONG_AGO)
      .where('at', '>=', from)
      .orderBy('at')
      .execute();
  return {
    /** Applies the evictions of other nodes. */
    refresh,
    async add(evicted: ReadonlyMap<string, Evicted>, at: number): Promise<void> {
      const added = new Map([...evicted, [ALL, sumOf(evicted)]]);
      for (const [layer, more] of added) sums.set(layer, add(sums.get(layer) ?? NOTHING_EVICTED, more));
      await database.transaction('evictions', async (query) => {
        for (const [layer, more] of added)
          await addTo(query, layer, startOf(at, layer === ALL ? SLICE : HOUR), more);
        await foldBefore(query, at - KEEP);
      });
    },
    /** Since the database was created. */
    get total(): Evicted {
      return sums.get(ALL) ?? NOTHING_EVICTED;
    },
    get byLayer(): ReadonlyMap<string, Evicted> {
      return new Map([...sums].filter(([layer]) => layer !== ALL));
    },
    /** Between two times, to within a few seconds; of the last month. Milliseconds since 1970. */
    between: async (from: number, to: number): Promise<Evicted> =>
      (await sumsBetween(database.query, startOf(from, SLICE), to, ALL)).get(ALL) ?? NOTHING_EVICTED,
    /** Hours in which something was removed, of the last month. */
    hoursSince: (from: number) => rowsSince('<>', startOf(from, HOUR)),
    /** The same of all layers together, in slices. */
    slicesSince: (from: number) => rowsSince('=', startOf(from, SLICE)),
  };
}

function startOf(at: number, step: number): number {
  return Math.floor(at / step) * step;
}

/** Old rows are kept as a sum. */
async function foldBefore(query: Statements, before: number): Promise<void> {
  const old = await sumsBetween(query, LONG_AGO + 1, before);
  if (old.size === 0) return;
  await query.deleteFrom('evictions').where('at', '>', LONG_AGO).where('at', '<=', before).execute();
  for (const [layer, evicted] of old) await addTo(query, layer, LONG_AGO, evicted);
}

async function addTo(query: Statements, layer: string, at: number, evicted: Evicted): Promise<void> {
  const known = query.selectFrom('evictions').select(COUNTS).where('layer', '=', layer).where('at', '=', at);
  const sum = add((await known.executeTakeFirst()) ?? NOTHING_EVICTED, evicted);
  await query
    .insertInto('evictions')
    .values({ layer, at, ...sum })
    .onConflict((conflict) => conflict.columns(['layer', 'at']).doUpdateSet(sum))
    .execute();
}

/** Sums by layer, of one or of all. PostgreSQL returns sums as texts. */
async function sumsBetween(
  query: Statements,
  from: number,
  to: number,
  layer: string | null = null,
): Promise<Map<string, Evicted>> {
  const all = query
    .selectFrom('evictions')
    .select('layer')
    .select(({ fn }) => COUNTS.map((count) => fn.sum(count).as(count)))
    .where('at', '>=', from)
    .where('at', '<=', to)
    .groupBy('layer');
  const rows = await (layer === null ? all : all.where('layer', '=', layer)).execute();
  return new Map(
    rows.map(({ layer, pages, tiles, bytes }) => {
      return [layer, { pages: Number(pages), tiles: Number(tiles), bytes: Number(bytes) }];
    }),
  );
}
