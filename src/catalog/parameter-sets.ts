import type { Database, Statements } from '../db/database.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Layer } from '../domain/layer.ts';
import { idWithoutTimes, type ParameterFilter, type ParameterSelection } from '../domain/parameter-filter.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { Clock } from '../lib/clock.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { tileSetsIn } from '../storage/read-tiles.ts';
import type { Store } from '../storage/store.ts';

interface ParameterSetsOptions {
  readonly database: Database;
  readonly events: TileEvents;
  readonly clock: Clock;
  /** Limit for one layer. */
  readonly most: number;
}

type ListedStore = Pick<Store, 'usage'>;

/** Milliseconds for which a read of the sets is used. */
const KNOWN_FOR = 60_000;
/** Milliseconds between reads of the store while a layer has as many sets as it may have. */
const FULL_FOR = 5000;
/** Milliseconds that an admitted set may take until its first tile is stored. */
const GRACE = 5 * 60_000;

/** A combination of parameter values as it is counted: without times, whose number their list limits. */
type CountedSet = Pick<TileSetKey, 'layer' | 'parametersId'> & {
  /** Filters of a layer with times. */
  readonly filters?: readonly ParameterFilter[];
};

/** A tile set as it is counted, with its store. */
export function countedSet({ set, bound, selection }: CountedTiles): [CountedSet, Store] {
  if (!selection.timed) return [set, bound.store];
  const { parameters: filters } = bound.layer;
  return [
    { layer: set.layer, parametersId: idWithoutTimes(filters, selection.values), filters },
    bound.store,
  ];
}

interface CountedTiles {
  readonly set: TileSetKey;
  readonly bound: { readonly layer: Layer; readonly store: Store };
  readonly selection: ParameterSelection;
}

interface KnownSets {
  readonly ids: Set<string>;
  readonly readAt: number;
  isFull: boolean;
}

export type ParameterSets = ReturnType<typeof openParameterSets>;

/**
 * Bounds how many combinations of parameter values are stored of a layer. Each is recorded under a lock of the database
 * before its first tile is stored, so that all processes and nodes count the same; those without tiles in the store
 * lose their place.
 */
export function openParameterSets({ database, events, clock, most }: ParameterSetsOptions) {
  const layers = new Map<string, KnownSets>();
  const reading = new Map<string, Promise<KnownSets>>();
  const droppedAt = new Map<string, number>();
  const unsubscribe = events.subscribe((event) => {
    if (event.type !== 'layer-dropped') return;
    layers.delete(event.layer);
    droppedAt.set(event.layer, event.at);
  });

  async function read({ layer, filters }: CountedSet, store: ListedStore): Promise<KnownSets> {
    const stored = new Set<string>();
    for (const { parametersId } of await tileSetsIn(store, layer))
      if (parametersId !== null) stored.add(parametersId);
    const counted = filters ? await withoutTimes(database, stored, filters) : stored;
    const before = Math.max(clock.now() - GRACE, droppedAt.get(layer) ?? 0);
    const ids = await database.transaction('parameter-sets', (query) =>
      reconcile(query, layer, counted, before, clock.now()),
    );
    const known = { ids, readAt: clock.monotonic(), isFull: ids.size >= most };
    layers.set(layer, known);
    return known;
  }

  /** One read for all waiting callers. */
  function readOnce(set: CountedSet, store: ListedStore): Promise<KnownSets> {
    const { layer } = set;
    return getOrCreate(reading, layer, () => read(set, store).finally(() => reading.delete(layer)));
  }

  async function reserve(layer: string, id: string, known: KnownSets): Promise<boolean> {
    const hasPlace = await database.transaction('parameter-sets', (query) =>
      insertWithin(query, { layer, id, noted_at: clock.now() }, most),
    );
    if (hasPlace) known.ids.add(id);
    known.isFull = !hasPlace;
    return hasPlace;
  }

  /** Whether tiles of the set may be stored; a new one has its place afterwards. */
  async function admit(set: CountedSet, store: ListedStore): Promise<boolean> {
    const { layer, parametersId } = set;
    if (parametersId === null) return true;
    let known = layers.get(layer);
    const age = known ? clock.monotonic() - known.readAt : Number.POSITIVE_INFINITY;
    if (!known || age > (known.isFull ? FULL_FOR : KNOWN_FOR)) known = await readOnce(set, store);
    if (known.ids.has(parametersId)) return true;
    return known.isFull ? false : reserve(layer, parametersId, known);
  }

  return {
    admit,
    /** Throws `too-many-parameter-sets`. */
    async require(set: CountedSet, store: ListedStore): Promise<void> {
      if (!(await admit(set, store))) throw tooMany(set, most);
    },
    /** Same as `require`, but reserves no place for a new set: for dry runs. */
    async requireRoom(set: CountedSet, store: ListedStore): Promise<void> {
      if (set.parametersId === null) return;
      const { ids } = await readOnce(set, store);
      if (!ids.has(set.parametersId) && ids.size >= most) throw tooMany(set, most);
    },
    close: async (): Promise<void> => unsubscribe(),
  };
}

function tooMany({ layer }: CountedSet, most: number): TilewardenError {
  return new TilewardenError(
    'too-many-parameter-sets',
    `Layer ${layer} has tiles of ${most} combinations of parameters, as many as maxParameterSets allows; truncate some, or raise the setting.`,
  );
}

/** Stored combinations by their other values; those with unknown values do not count. */
async function withoutTimes(
  { query }: Pick<Database, 'query'>,
  stored: ReadonlySet<string>,
  filters: readonly ParameterFilter[],
): Promise<ReadonlySet<string>> {
  const rows = await query.selectFrom('parameter_values').select(['id', 'document']).execute();
  const ids = new Set<string>();
  for (const { id, document } of rows) {
    if (!stored.has(id)) continue;
    const counted = idWithoutTimes(filters, new Map(Object.entries(JSON.parse(document))));
    if (counted !== null) ids.add(counted);
  }
  return ids;
}

/** Adds sets that are stored and removes those that are not, unless they were recorded after `before`. */
async function reconcile(
  query: Statements,
  layer: string,
  stored: ReadonlySet<string>,
  before: number,
  now: number,
): Promise<Set<string>> {
  const rows = await query.selectFrom('parameter_sets').selectAll().where('layer', '=', layer).execute();
  const ids = new Set(rows.map(({ id }) => id));
  for (const { id, noted_at } of rows) {
    if (stored.has(id) || noted_at > before) continue;
    await query.deleteFrom('parameter_sets').where('layer', '=', layer).where('id', '=', id).execute();
    ids.delete(id);
  }
  for (const id of stored) {
    if (ids.has(id)) continue;
    await query.insertInto('parameter_sets').values({ layer, id, noted_at: now }).execute();
    ids.add(id);
  }
  return ids;
}

async function insertWithin(
  query: Statements,
  row: { readonly layer: string; readonly id: string; readonly noted_at: number },
  most: number,
): Promise<boolean> {
  const rows = await query.selectFrom('parameter_sets').select('id').where('layer', '=', row.layer).execute();
  if (rows.some(({ id }) => id === row.id)) return true;
  if (rows.length >= most) return false;
  await query.insertInto('parameter_sets').values(row).execute();
  return true;
}
