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
/** Milliseconds after which a row is added to the sum of all earlier ones. */
const KEEP = 31 * 86_400_000;
const LONG_AGO = 0;
const COUNTS = ['pages', 'tiles', 'bytes'] as const;

export type Evictions = Awaited<ReturnType<typeof loadEvictions>>;

/** Evicted tiles and bytes, kept over restarts. One node at a time evicts; the others read its sums. */
export async function loadEvictions(database: Database) {
  let total = NOTHING_EVICTED;
  let byLayer = new Map<string, Evicted>();
  async function refresh(): Promise<void> {
    total = await sumBetween(database.query, LONG_AGO, Number.MAX_SAFE_INTEGER);
    byLayer = await sumsOfLayers(database.query);
  }
  await refresh();
  return {
    /** Takes up what other nodes have removed. */
    refresh,
    async add(evicted: ReadonlyMap<string, Evicted>, at: number): Promise<void> {
      const sum = sumOf(evicted);
      total = add(total, sum);
      for (const [layer, more] of evicted)
        byLayer.set(layer, add(byLayer.get(layer) ?? NOTHING_EVICTED, more));
      await database.transaction('evictions', async (query) => {
        await addTo(query, startOf(at, SLICE), sum);
        for (const [layer, more] of evicted) await addToLayer(query, layer, startOf(at, HOUR), more);
        await foldBefore(query, at - KEEP);
      });
    },
    /** Since the data folder was made. */
    get total(): Evicted {
      return total;
    },
    get byLayer(): ReadonlyMap<string, Evicted> {
      return byLayer;
    },
    /** Between two times, to within a few seconds; of the last month. Milliseconds since 1970. */
    between: (from: number, to: number): Promise<Evicted> =>
      sumBetween(database.query, startOf(from, SLICE), to),
    /** Hours in which something was removed, of the last month. */
    hoursSince: (from: number): Promise<readonly EvictedHour[]> =>
      database.query
        .selectFrom('layer_evictions')
        .select(['layer', 'at', ...COUNTS])
        .where('at', '>', LONG_AGO)
        .where('at', '>=', startOf(from, HOUR))
        .orderBy('at')
        .execute(),
  };
}

function startOf(at: number, step: number): number {
  return Math.floor(at / step) * step;
}

/** Old rows are kept as a sum. */
async function foldBefore(query: Statements, before: number): Promise<void> {
  const old = await sumBetween(query, LONG_AGO + 1, before);
  if (old.pages === 0) return;
  await query.deleteFrom('evictions').where('at', '>', LONG_AGO).where('at', '<=', before).execute();
  await addTo(query, LONG_AGO, old);
  const hours = await query
    .selectFrom('layer_evictions')
    .selectAll()
    .where('at', '>', LONG_AGO)
    .where('at', '<=', before)
    .execute();
  for (const { layer, at, ...evicted } of hours) {
    await query.deleteFrom('layer_evictions').where('layer', '=', layer).where('at', '=', at).execute();
    await addToLayer(query, layer, LONG_AGO, evicted);
  }
}

async function addTo(query: Statements, at: number, evicted: Evicted): Promise<void> {
  const known = query.selectFrom('evictions').select(COUNTS).where('at', '=', at);
  const sum = add((await known.executeTakeFirst()) ?? NOTHING_EVICTED, evicted);
  await query
    .insertInto('evictions')
    .values({ at, ...sum })
    .onConflict((conflict) => conflict.column('at').doUpdateSet(sum))
    .execute();
}

async function addToLayer(query: Statements, layer: string, at: number, evicted: Evicted): Promise<void> {
  const ofLayer = query.selectFrom('layer_evictions').select(COUNTS).where('layer', '=', layer);
  const sum = add((await ofLayer.where('at', '=', at).executeTakeFirst()) ?? NOTHING_EVICTED, evicted);
  await query
    .insertInto('layer_evictions')
    .values({ layer, at, ...sum })
    .onConflict((conflict) => conflict.columns(['layer', 'at']).doUpdateSet(sum))
    .execute();
}

async function sumBetween(query: Statements, from: number, to: number): Promise<Evicted> {
  const sum = await query
    .selectFrom('evictions')
    .select(({ fn }) => COUNTS.map((count) => fn.sum(count).as(count)))
    .where('at', '>=', from)
    .where('at', '<=', to)
    .executeTakeFirst();
  return evictedOf(sum ?? {});
}

async function sumsOfLayers(query: Statements): Promise<Map<string, Evicted>> {
  const rows = await query
    .selectFrom('layer_evictions')
    .select('layer')
    .select(({ fn }) => COUNTS.map((count) => fn.sum(count).as(count)))
    .groupBy('layer')
    .execute();
  return new Map(rows.map((row) => [row.layer, evictedOf(row)]));
}

/** Sums are null over no rows, and may be texts. */
function evictedOf(sums: { readonly [Count in keyof Evicted]?: unknown }): Evicted {
  return { pages: Number(sums.pages ?? 0), tiles: Number(sums.tiles ?? 0), bytes: Number(sums.bytes ?? 0) };
}
