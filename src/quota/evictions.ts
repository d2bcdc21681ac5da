import type { Database, Statements } from '../db/database.ts';
import { add, type Evicted, NOTHING_EVICTED, sumOf } from './clean-up.ts';

/** What was removed of a layer in an hour. */
export interface EvictedHour extends Evicted {
  readonly layer: string;
  /** When the hour began. Milliseconds since 1970. */
  readonly at: number;
}

/** What was removed for quotas, kept over restarts. */
export interface Evictions {
  add(evicted: ReadonlyMap<string, Evicted>, at: number): Promise<void>;
  /** Takes up what other nodes have removed. */
  refresh(): Promise<void>;
  /** Since the data folder was made. */
  readonly total: Evicted;
  readonly byLayer: ReadonlyMap<string, Evicted>;
  /** Between two times, to within a few seconds; of the last month. Milliseconds since 1970. */
  between(from: number, to: number): Promise<Evicted>;
  /** Hours in which something was removed, of the last month. */
  hoursSince(from: number): Promise<readonly EvictedHour[]>;
}

/** Milliseconds that one row stands for: all layers together, and each for itself. */
const SLICE = 5000;
const HOUR = 3_600_000;
/** Milliseconds after which a row is added to the one that stands for all before. */
const KEEP = 31 * 86_400_000;
const LONG_AGO = 0;

/** One node at a time removes tiles for quotas; the others look up its sums. */
export async function loadEvictions(database: Database): Promise<Evictions> {
  let total = await sumBetween(database.query, LONG_AGO, Number.MAX_SAFE_INTEGER);
  let byLayer = await sumsOfLayers(database.query);
  return {
    async refresh() {
      total = await sumBetween(database.query, LONG_AGO, Number.MAX_SAFE_INTEGER);
      byLayer = await sumsOfLayers(database.query);
    },
    async add(evicted, at) {
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
    get total() {
      return total;
    },
    get byLayer() {
      return byLayer;
    },
    between: (from, to) => sumBetween(database.query, startOf(from, SLICE), to),
    hoursSince: (from) =>
      database.query
        .selectFrom('layer_evictions')
        .select(['layer', 'at', 'pages', 'tiles', 'bytes'])
        .where('at', '>', LONG_AGO)
        .where('at', '>=', startOf(from, HOUR))
        .orderBy('at')
        .execute(),
  };
}

function startOf(at: number, step: number): number {
  return Math.floor(at / step) * step;
}

/** What is old is kept as a sum. */
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

async function addToLayer(
  query: Statements,
  layer: string,
  at: number,
  { pages, tiles, bytes }: Evicted,
): Promise<void> {
  await query
    .insertInto('layer_evictions')
    .values({ layer, at, pages, tiles, bytes })
    .onConflict((conflict) =>
      conflict.columns(['layer', 'at']).doUpdateSet((row) => ({
        pages: row('layer_evictions.pages', '+', pages),
        tiles: row('layer_evictions.tiles', '+', tiles),
        bytes: row('layer_evictions.bytes', '+', bytes),
      })),
    )
    .execute();
}

async function sumBetween(query: Statements, from: number, to: number): Promise<Evicted> {
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

async function sumsOfLayers(query: Statements): Promise<Map<string, Evicted>> {
  const rows = await query
    .selectFrom('layer_evictions')
    .select(({ fn }) => [
      'layer',
      fn.sum('pages').as('pages'),
      fn.sum('tiles').as('tiles'),
      fn.sum('bytes').as('bytes'),
    ])
    .groupBy('layer')
    .execute();
  return new Map(
    rows.map(({ layer, pages, tiles, bytes }) => [
      layer,
      { pages: Number(pages), tiles: Number(tiles), bytes: Number(bytes) },
    ]),
  );
}
