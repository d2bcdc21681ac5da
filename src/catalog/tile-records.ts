import type { GridSet, GridSetRegistry } from '../domain/grid-set.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { Clock } from '../lib/clock.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { collectYielding } from '../lib/yielding.ts';
import { layersIn, tileSetsIn } from '../storage/read-tiles.ts';
import type { ChangeableCatalog } from './catalog.ts';
import type { CatalogEntries, CatalogEntry, EntryTransaction } from './catalog-entries.ts';
import {
  declaredIn,
  facetsOf,
  forgotten,
  geometryOf,
  isReachable,
  REMEMBERED,
  REMOVED,
  rebuiltRecord,
  renumbered,
  splitIncarnation,
  type TileChoice,
  type TileFacets,
  type TileRecord,
} from './incarnations.ts';
import type { LayerDeclaration } from './layer-declaration.ts';
import { isRecorded } from './tile-fates.ts';

interface TileRecordsOptions<Source> {
  readonly entries: CatalogEntries;
  readonly catalog: ChangeableCatalog<Source>;
  readonly clock: Pick<Clock, 'now'>;
}

export type TileRecords = ReturnType<typeof createTileRecords>;

const SERVER = 'server';
/** Other nodes may have another file: their declarations keep their tiles. */
const FIRST = { at: 0, choice: 'stale', fresh: 0, first: 0 } as const;

interface Declared {
  readonly name: string;
  readonly facets: TileFacets;
}

/** Keeps the records of `incarnations.ts`, durably, and removes tiles that no declaration reaches. */
export function createTileRecords<Source>({ entries, catalog, clock }: TileRecordsOptions<Source>) {
  async function unrecorded(
    layers: Iterable<LayerDeclaration<Source>>,
    gridSets: GridSetRegistry,
  ): Promise<readonly Declared[]> {
    function* declaredSets(): Generator<Declared | null> {
      for (const declaration of layers) {
        const { name } = declaration;
        const facets = facetsOf(declaration, gridSets);
        yield isRecorded(catalog.record(name), facets) ? null : { name, facets };
      }
    }
    return (await collectYielding(declaredSets())).filter((declared) => declared !== null);
  }

  function* declarations(): Generator<LayerDeclaration<Source>> {
    for (const name of catalog.layerNames()) {
      const declaration = catalog.declaration(name);
      if (declaration) yield declaration;
    }
  }

  /** Inside the transaction of the change itself. Null: the layer is removed. */
  async function record(
    inside: EntryTransaction,
    layer: string,
    facets: TileFacets | null,
    choice: TileChoice | null,
    changedBy: string,
  ): Promise<void> {
    const before = (await inside.get('tiles', layer))?.document as TileRecord | undefined;
    const fresh = await inside.fresh();
    const declared = { at: clock.now(), choice, fresh, first: fresh };
    const next = facets === null ? REMOVED : declaredIn(before ?? null, { ...declared, facets });
    if (next === before) return;
    await inside.put({ kind: 'tiles', name: layer, document: next, changedBy });
  }

  /** Records declarations. Layers without a record keep their tiles; returns the others, whose tiles may change. */
  async function declare(layers: readonly Declared[]): Promise<readonly string[]> {
    const isFirst = ({ name }: Declared) => catalog.record(name) === null;
    const at = clock.now();
    // Another node may record them at the same time, from another file.
    const added = await entries.addAll(
      layers.filter(isFirst).map(({ name, facets }) => {
        const document = declaredIn(null, { ...FIRST, facets, at });
        return { kind: 'tiles', name, document, changedBy: SERVER };
      }),
    );
    const others = layers.filter(({ name }) => !added.has(name));
    for (const { name, facets } of others) {
      await entries.transaction((inside) => record(inside, name, facets, 'stale', SERVER));
    }
    return others.map(({ name }) => name);
  }

  /** Digests of unused sources that are drawn from a changed layer, by layer. Adds the layers above to `changed`. */
  function formerAbove(changed: Set<string>): ReadonlyMap<string, ReadonlySet<string>> {
    const former = new Map<string, Set<string>>();
    for (let known = -1; known < changed.size; ) {
      known = changed.size;
      for (const [layer, { below = {} }] of catalog.records()) {
        const digests = Object.keys(below).filter((digest) =>
          below[digest]?.some((name) => changed.has(name)),
        );
        if (digests.length === 0) continue;
        changed.add(layer);
        const declaration = catalog.declaration(layer);
        const used = declaration && facetsOf(declaration, catalog.gridSets).source;
        const others = digests.filter((digest) => digest !== used);
        if (others.length > 0) former.set(layer, new Set(others));
      }
    }
    return former;
  }

  async function forget(layer: string): Promise<void> {
    const shortened = (entry: CatalogEntry | null) => {
      const former = (entry?.document ?? null) as TileRecord | null;
      const next = former && forgotten(former, clock.now() - REMEMBERED);
      return next === former ? null : next;
    };
    if (!shortened(await entries.get('tiles', layer))) return;
    await entries.transaction(async (inside) => {
      const document = shortened(await inside.get('tiles', layer));
      if (document) await inside.put({ kind: 'tiles', name: layer, document, changedBy: SERVER });
    });
  }

  /** Removes tiles that no declaration reaches. Any node may do this at any time: nothing else is removed. */
  async function collect(layer: string): Promise<void> {
    const records = new Map<string, Promise<CatalogEntry | null>>();
    const recordOf = (name: string) => getOrCreate(records, name, () => entries.get('tiles', name));
    if (!(await recordOf(layer))) return;
    for (const store of catalog.stores().values()) {
      for (const set of await tileSetsIn(store, layer)) {
        if (!(await isReached(set, recordOf))) await store.drop(set.layer, set);
      }
    }
  }

  /** Tiles of this node's own declaration of the layer are also compared with the layers that it is drawn from. */
  async function isReached(
    set: TileSetKey,
    recordOf: (layer: string) => Promise<CatalogEntry | null>,
  ): Promise<boolean> {
    const entry = await recordOf(set.layer);
    if (!entry) return true;
    if (!isReachable(entry.document as TileRecord, set)) return false;
    const bound = catalog.layer(set.layer);
    const { own, below } = splitIncarnation(set.incarnation);
    if (splitIncarnation(bound?.incarnation?.(set) ?? '').own !== own) return true;
    for (const [at, lower] of (bound?.drawnFrom?.(set.gridSet) ?? []).entries()) {
      const incarnation = below[at] ?? '';
      if (lower && !(await isReachedBelow({ ...set, ...lower, incarnation }, recordOf))) return false;
    }
    return true;
  }

  /** Checks all grid sets of the lower layer: another node may have changed which one is used. Numbers are unique. */
  async function isReachedBelow(
    set: TileSetKey,
    recordOf: (layer: string) => Promise<CatalogEntry | null>,
  ): Promise<boolean> {
    const record = (await recordOf(set.layer))?.document as TileRecord | undefined;
    for (const gridSet of record ? Object.keys(record.gridSets) : [set.gridSet]) {
      if (await isReached({ ...set, gridSet }, recordOf)) return true;
    }
    return false;
  }

  return {
    record,
    collect,
    /**
     * The tiles of these layers have changed. Declarations that this server does not use now, and that are drawn from
     * one of them, get new numbers: the change could not mark their tiles. Returns whether there are any.
     */
    async outdateFormer(layers: Iterable<string>): Promise<boolean> {
      const former = formerAbove(new Set(layers));
      for (const [layer, digests] of former) {
        await entries.transaction(async (inside) => {
          const record = (await inside.get('tiles', layer))?.document as TileRecord | undefined;
          if (!record) return;
          const document = renumbered(record, digests, await inside.fresh());
          await inside.put({ kind: 'tiles', name: layer, document, changedBy: SERVER });
        });
      }
      return former.size > 0;
    },
    /** Records the configuration file's declarations before they take effect. Returns the layers whose tiles change. */
    async declareFixed(
      layers: readonly LayerDeclaration<Source>[],
      gridSets: GridSetRegistry,
    ): Promise<readonly string[]> {
      const fixed = new Set(layers.map(({ name }) => name));
      const others = isSameGrid(catalog.gridSets.gridSets, gridSets) ? [] : [...declarations()];
      const all = [...layers, ...others.filter(({ name }) => !fixed.has(name))];
      return declare(await unrecorded(all, gridSets));
    },

    /** Same as `declareFixed`, for all declarations at a start: the file may have been replaced. */
    async declareAll(): Promise<readonly string[]> {
      return declare(await unrecorded(declarations(), catalog.gridSets));
    },

    /** For all layers that have tiles; also forgets declarations that were replaced long ago. */
    async collectAll(signal: AbortSignal): Promise<void> {
      for (const store of catalog.stores().values()) {
        for (const layer of await layersIn(store)) {
          signal.throwIfAborted();
          await forget(layer);
          await collect(layer);
        }
      }
    },
  };
}

/** Records the declarations of tile sets that a rebuilt index lists again. */
export async function restoreTileRecords(
  entries: CatalogEntries,
  sets: readonly TileSetKey[],
  clock: Pick<Clock, 'now'>,
): Promise<void> {
  for (const name of new Set(sets.map(({ layer }) => layer))) {
    const own = sets.filter(({ layer }) => layer === name);
    await entries.transaction(async (inside) => {
      const before = ((await inside.get('tiles', name))?.document ?? null) as TileRecord | null;
      const document = rebuiltRecord(before, own, clock.now());
      await inside.put({ kind: 'tiles', name, document, changedBy: SERVER });
    });
  }
}

function isSameGrid(known: readonly GridSet[], next: GridSetRegistry): boolean {
  return known.every((gridSet) => {
    const after = next.find(gridSet.name);
    return !after || geometryOf(after) === geometryOf(gridSet);
  });
}
