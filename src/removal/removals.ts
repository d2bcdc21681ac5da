/**
 * A removal is a mark: the only way in which tiles that are wrong, or not wanted, stop being shown. A mark names a
 * layer and places, not a declaration: every store, and tiles of former declarations, obey it.
 *
 *   step                                              a process that stops there
 *   whole tile sets are dropped as they are           has acknowledged nothing; the caller repeats it
 *   the mark is raised in every store, durably        the same; the cleaner ends the marks
 *   again in all but the last, for copies between     the same
 *   memory and flights forget the places, everywhere  the same
 *   the same for the layers that are drawn from it    the same
 *   acknowledged                                      readers obey the mark until the cleaner, or its task, ends it
 */
import type { Catalog } from '../catalog/catalog.ts';
import { drawnFrom } from '../catalog/tile-fates.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import { WHOLE_LEVEL } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { withConcurrency } from '../lib/yielding.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import { concerns } from '../storage/index/mark-rows.ts';
import { tileSetsIn } from '../storage/read-tiles.ts';
import { MARKS_AT_ONCE, type Store, type TilePlace } from '../storage/store.ts';
import { placesAbove } from './places-above.ts';
import { EVERY_LEVEL, type RaisedMarks, type Removal } from './removal.ts';
import type { TileSelection } from './tile-selection.ts';

/** A removal of a layer because another one, which it is drawn from, has changed. */
interface RemovalAbove {
  readonly removal: Removal;
  readonly selections: readonly TileSelection[];
  /** The layer, and those that it is drawn from. */
  readonly via: ReadonlySet<string>;
}

interface RemovalsOptions {
  readonly catalog: Pick<Catalog, 'layer' | 'layerNames' | 'stores' | 'version' | 'declaration' | 'record'>;
  readonly pipeline: Pick<TilePipeline, 'forgetPlaces'>;
  readonly events: Pick<TileEvents, 'emit'>;
  /** Resolves when all processes and nodes obey every change made before. */
  readonly obeyedByAll: () => Promise<void>;
  /** For declarations of layers above that are not in use now, and may come back. */
  readonly outdateFormer: (layers: readonly string[]) => Promise<void>;
  /** Wakes the cleaner, which may run on another node. */
  readonly raised: () => void;
  readonly clock: Pick<Clock, 'now'>;
}

/** Layers whose tile sets are dropped concurrently: each waits for the disk most of its time. */
const LAYERS_AT_ONCE = 32;

export type Removals = ReturnType<typeof createRemovals>;

export function createRemovals(options: RemovalsOptions) {
  const { catalog, pipeline, events, obeyedByAll, outdateFormer, raised, clock } = options;

  /**
   * Sets are dropped before the mark has its number, so that nothing is dropped that was requested after it, however
   * long this process is stopped in between. The mark removes tiles that are stored in the meantime.
   */
  async function dropWhole(store: Store, removal: Removal): Promise<void> {
    const { layer, places, type, createdBefore, formats, parametersId } = removal;
    const gridSets = wholeGridSets(places);
    if (type !== 'hide' || createdBefore !== undefined || gridSets?.size === 0) return;
    if (!gridSets && !formats && parametersId === undefined) await store.drop(layer, null);
    else {
      for (const set of await tileSetsIn(store, layer)) {
        const isMeant = concerns(removal, set) && (!gridSets || gridSets.has(set.gridSet));
        if (isMeant) await store.drop(layer, set);
      }
    }
    events.emit({ type: 'layer-dropped', layer, at: clock.now() });
  }

  /**
   * Some transactions of each store. In all but the last they are repeated, because a migration may have copied into a store,
   * with a ticket after the first mark, tiles of one that was not marked yet. Returns numbers in the order of the removals.
   */
  async function raise(removals: readonly Removal[], byTask?: true): Promise<readonly RaisedMarks[]> {
    const at = clock.now();
    const raises = removals.map(({ layer, places, ...effect }) => ({
      layer,
      places,
      effect: { ...effect, at, ...(byTask && { byTask }) },
    }));
    const numbers = removals.map((): Record<string, number> => ({}));
    const stores = [...catalog.stores()];
    for (const [name, store] of [...stores, ...stores.slice(0, -1)]) {
      const isRepeated = numbers[0]?.[name] !== undefined;
      if (!byTask && !isRepeated)
        await withConcurrency(removals, LAYERS_AT_ONCE, (one) => dropWhole(store, one));
      for (let start = 0; start < raises.length; start += MARKS_AT_ONCE) {
        const slice = numbers.slice(start, start + MARKS_AT_ONCE);
        const earlier = slice.flatMap((one) => one[name] ?? []);
        const next = raises.slice(start, start + MARKS_AT_ONCE);
        const given = await store.mark({ type: 'raise', raises: next });
        for (const [index, number] of given.entries()) Object.assign(slice[index] ?? {}, { [name]: number });
        if (isRepeated) await store.mark({ type: 'close', numbers: earlier });
      }
    }
    for (const { layer, places } of removals) pipeline.forgetPlaces(layer, places ?? undefined);
    await obeyedByAll();
    return numbers;
  }

  async function removalsAbove(
    lower: Pick<RemovalAbove, 'removal' | 'via'>,
  ): Promise<readonly RemovalAbove[]> {
    const { layer, places, type } = lower.removal;
    const found: RemovalAbove[] = [];
    for (const name of (await drawnFrom(catalog)).get(layer) ?? []) {
      const upper = lower.via.has(name) ? null : catalog.layer(name)?.layer;
      if (!upper) continue;
      const below = catalog.layer(layer)?.layer ?? null;
      const { selections, places: there } = await placesAbove(upper, catalog.record(name), below, places);
      const via = new Set([...lower.via, name]);
      if (there?.length !== 0) found.push({ removal: { layer: name, places: there, type }, selections, via });
    }
    return found;
  }

  /** Layers come before those drawn from them, so that the latter are drawn from new tiles. */
  async function follow(removals: readonly Removal[]): Promise<readonly RemovalAbove[]> {
    const all: RemovalAbove[] = [];
    let lower: readonly Pick<RemovalAbove, 'removal' | 'via'>[] = removals.map((removal) => ({
      removal,
      via: new Set([removal.layer]),
    }));
    while (lower.length > 0) {
      const above: RemovalAbove[] = [];
      for (const one of lower) above.push(...(await removalsAbove(one)));
      if (above.length > 0) await raise(above.map(({ removal }) => removal));
      all.push(...above);
      lower = above;
    }
    await outdateFormer(removals.map(({ layer }) => layer));
    raised();
    return all;
  }

  return {
    /**
     * In force for every reader, and durable, when it resolves; nothing has been listed or touched by then but tile
     * sets that were dropped as a whole. Returns what became of the layers that are drawn from these.
     */
    async remove(removals: readonly Removal[]): Promise<readonly RemovalAbove[]> {
      if (removals.length === 0) return [];
      await raise(removals);
      return follow(removals);
    },
    /** As `remove`, for a task that removes the tiles itself: see `cleaner.ts`. */
    async begin(removal: Removal): Promise<RaisedMarks> {
      const [numbers = {}] = await raise([removal], true);
      await follow([removal]);
      return numbers;
    },
    /** Tiles that are not removed yet are shown again. */
    async close(numbers: RaisedMarks): Promise<void> {
      for (const [name, number] of Object.entries(numbers)) {
        await catalog
          .stores()
          .get(name)
          ?.mark({ type: 'close', numbers: [number] });
      }
    },
    /** Refuses writers that have asked their source already; readers see no difference. */
    async fence(layer: string, places: readonly TilePlace[]): Promise<void> {
      const raises = [{ layer, places, effect: null }];
      for (const store of catalog.stores().values()) await store.mark({ type: 'raise', raises });
    },
    /** Outdates tiles that are drawn from the replaced ones. */
    async replaced(layer: string, places: readonly TilePlace[]): Promise<void> {
      await follow([{ layer, places, type: 'outdate' }]);
    },
  };
}

/** The grid sets whose tiles are all selected; null: all grid sets. */
function wholeGridSets(places: Removal['places']): ReadonlySet<string> | null {
  if (!places) return null;
  const levels = new Map<string, Set<number>>();
  for (const { gridSet, z, rect } of places) {
    if (rect === WHOLE_LEVEL) getOrCreate(levels, gridSet, () => new Set<number>()).add(z);
  }
  const whole = [...levels].filter(([, zooms]) => zooms.size === EVERY_LEVEL.length);
  return new Set(whole.map(([gridSet]) => gridSet));
}
