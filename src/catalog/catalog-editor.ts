import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Statements } from '../db/database.ts';
import { isTilewardenError, shortened, TilewardenError } from '../domain/errors.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { everySubset, type Layer } from '../domain/layer.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { UnavailableError } from '../lib/error-code.ts';
import type { Logger } from '../lib/logger.ts';
import type { ChangeableCatalog } from './catalog.ts';
import {
  type CatalogEntries,
  type CatalogEntry,
  checkExpected,
  type EntryKind,
  type EntryTransaction,
  type PendingCleanup,
} from './catalog-entries.ts';
import { createLayer } from './create-layer.ts';
import type { DeclaredEntries, DocumentReader } from './declared-entries.ts';
import { facetsOf, geometryOf, type TileChoice, type TileFacets } from './incarnations.ts';
import type { LayerDeclaration } from './layer-declaration.ts';
import { partitionsOf } from './parameter-partitions.ts';
import type { ParameterStore } from './parameter-store.ts';
import {
  type Affected,
  effectsOf,
  isRecorded,
  layersAbove,
  type PlannedEffects,
  refuseWrong,
  usualChoice,
} from './tile-fates.ts';
import type { TileRecords } from './tile-records.ts';
import { forgetTimes } from './time-lists.ts';

type Origin = 'program' | 'file' | 'database';

export interface ShownEntry {
  readonly origin: Origin;
  /** Null: it cannot be changed over the network. */
  readonly version: number | null;
  /** In the configuration file's form, secrets hidden; null: it comes with the program. */
  readonly document: unknown;
  /** The same with every default; null of a grid set. */
  readonly effective: unknown;
}

interface PlannedChange extends PlannedEffects, Pick<CatalogEntry, 'name' | 'document'> {
  readonly kind: EntryKind;
}

export interface EntryChanged {
  readonly kind: EntryKind;
  readonly name: string;
  readonly created: boolean;
  /** Null: it was removed, or nothing was changed yet. */
  readonly version: number | null;
  readonly document: unknown;
  /** The former document, secrets hidden; null: none. */
  readonly before: unknown;
  readonly tileSets: readonly Affected[];
  /** The fate of doubtful tiles when the caller does not choose. */
  readonly usual: TileChoice;
}

interface ChangeOptions {
  /** The expected current version; null: none; absent: any. */
  readonly expected?: number | null;
  readonly by: string;
  /** Reports the fate of cached tiles and changes nothing. */
  readonly dryRun: boolean;
  /** The fate of tiles that show another source; null or absent: stale. */
  readonly tiles?: TileChoice | null;
}

/** A change of a layer that follows a map server. */
export interface FollowedChange {
  readonly name: string;
  /** Returns the new document for the present one; null: no change. May also read and write rows of its own. */
  readonly next: (before: unknown, query: Statements) => Promise<unknown>;
  /** In the same transaction; documents without secrets. */
  readonly also: (
    query: Statements,
    change: { readonly before: unknown; readonly document: unknown },
  ) => Promise<void>;
  /** The document is invalid; nothing was written. */
  readonly refused: (message: string) => void;
}

/** Facets are computed from these; a grid set changes those of the layers too. */
const SHAPES = ['grid-set', 'area'] as const;
const MAX_PLANS = 10;
/** Layers per transaction: other writers wait for it, and with SQLite the event loop. */
const FOLLOWED_AT_ONCE = 5;

export type CatalogEditor = ReturnType<typeof createCatalogEditor>;

interface CatalogEditorOptions<Source> {
  readonly catalog: ChangeableCatalog<Source>;
  readonly entries: CatalogEntries;
  readonly declared: DeclaredEntries<Source>;
  readonly reader: DocumentReader<Source>;
  /** Throws when the addresses of such a source or feed are not accepted over the network. */
  readonly admit: (input: unknown) => void;
  readonly parameters: Pick<ParameterStore, 'values'>;
  /** File form of the grid sets that the configuration file declares now. */
  readonly gridSetDocuments: () => ReadonlyMap<string, unknown>;
  readonly records: Pick<TileRecords, 'record' | 'collect'>;
  readonly log: Logger;
  /** Resolves when every other process of the installation has refreshed its catalog. */
  readonly announce: () => Promise<void>;
  /** Called when a change of these layers has taken effect everywhere. */
  readonly changed: (layers: readonly string[]) => Promise<void>;
  /** Other data of a layer that is removed in this transaction. */
  readonly dependentsOf: (inside: EntryTransaction['query']) => Promise<PendingCleanup>;
  /** Removes the remaining data. Repeated or late calls harm no other layer of that name. */
  readonly clear: (layer: string, pendingCleanup: PendingCleanup, by: string) => Promise<void>;
}

/** Changes declarations, durably, and in every process before it returns. */
export function createCatalogEditor<Source>(options: CatalogEditorOptions<Source>) {
  const { catalog, entries, declared, reader, parameters, records } = options;

  function refuseFixed(kind: EntryKind, name: string): void {
    const origin = originOf(kind, name);
    if (origin === 'database') return;
    const why =
      origin === 'program'
        ? 'comes with the program; declare one with another name'
        : 'comes from the configuration file, or is built in while that declares no layers; change it there';
    throw new TilewardenError('entry-read-only', `The ${wordFor(kind)} ${shortened(name)} ${why}.`);
  }

  function originOf(kind: EntryKind, name: string): Origin {
    if (kind === 'layer') return declared.isFixedLayer(name) ? 'file' : 'database';
    if (!declared.isFixedGridSet(name)) return 'database';
    return options.gridSetDocuments().has(name) ? 'file' : 'program';
  }

  async function existingEntry(kind: EntryKind, name: string): Promise<CatalogEntry | null> {
    const entry = await entries.get(kind, name);
    return entry && entry.document !== null ? entry : null;
  }

  /** Repeats an attempt that returns null because this process has not applied the latest declarations. */
  async function whenCurrent<Result>(attempt: () => Promise<Result | null>): Promise<Result> {
    for (let left = MAX_PLANS; left > 0; left--) {
      const result = await attempt();
      if (result !== null) return result;
      await declared.refresh();
    }
    throw new UnavailableError('The declarations are being changed by many requests; try again later.');
  }

  function applyChange(
    kind: EntryKind,
    name: string,
    change: ChangeOptions,
    planFrom: (former: CatalogEntry | null) => Promise<PlannedChange>,
  ): Promise<EntryChanged> {
    refuseFixed(kind, name);
    return whenCurrent(async () => {
      const { version } = declared;
      const former = await existingEntry(kind, name);
      return applyPlan(await planFrom(former), version, former, change);
    });
  }

  /** Null: the plan is outdated, and nothing has changed. */
  async function applyPlan(
    plan: PlannedChange,
    version: number,
    former: CatalogEntry | null,
    change: ChangeOptions,
  ): Promise<EntryChanged | null> {
    const { kind, name, document } = plan;
    if (change.dryRun) checkExpected(former, change.expected);
    const usual = await effectsOf(catalog, plan, null);
    const { tiles: choice = null } = change;
    if (choice !== null && choice !== 'drop') refuseWrong(usual);
    const shown = {
      document: reader.shown(document),
      before: former && reader.shown(former.document),
      tileSets: choice === null ? usual : await effectsOf(catalog, plan, choice),
      usual: usualChoice(usual),
    };
    const done = { kind, name, ...shown, created: former === null };
    if (change.dryRun) return { ...done, version: null };
    await cleanUp(await entries.get(kind, name));
    const entry = await entries.transaction(async (inside) =>
      (await inside.hasChanged(kind === 'layer' ? SHAPES : [...SHAPES, 'layer'], version))
        ? null
        : write(inside, plan, change),
    );
    if (!entry) return null;
    await declared.refresh();
    await options.announce();
    const layers = [...plan.layers.keys(), ...plan.above];
    await options.changed(layers);
    await cleanUp(entry);
    for (const layer of layers) await collect(layer);
    return { ...done, version: document === null ? null : entry.version };
  }

  /** Within one transaction: the declaration, and the record of its tiles (see `incarnations.ts`). */
  async function write(
    inside: EntryTransaction,
    { kind, name, document, layers }: PlannedChange,
    { expected, by, tiles = null }: ChangeOptions,
  ): Promise<CatalogEntry> {
    for (const [layer, facets] of layers) await records.record(inside, layer, facets, tiles, by);
    const isRemoved = kind === 'layer' && document === null;
    const pendingCleanup = isRemoved ? await options.dependentsOf(inside.query) : null;
    if (isRemoved) await forgetTimes(inside, name, by);
    const change = { kind, name, document, pendingCleanup, changedBy: by };
    return inside.put(expected === undefined ? change : { ...change, expected });
  }

  async function cleanUp(entry: CatalogEntry | null): Promise<void> {
    if (!entry?.pendingCleanup) return;
    await options.clear(entry.name, entry.pendingCleanup, entry.changedBy);
    await entries.cleared(entry);
  }

  /** The change is complete without this: the leading node collects the rest. */
  async function collect(layer: string): Promise<void> {
    try {
      await records.collect(layer);
    } catch (error) {
      options.log.warn({ err: error, layer }, 'tiles of a former declaration could not be removed yet');
    }
  }

  function admitted(document: unknown): LayerDeclaration<Source> {
    const declaration = reader.layer(document, catalog);
    options.admit(declaration.source);
    options.admit(declaration.updateSources);
    return declaration;
  }

  async function planLayer(input: unknown, former: CatalogEntry | null): Promise<PlannedChange> {
    const restored = reader.restored(input, former?.document);
    const declaration = admitted(restored);
    const { name, store } = declaration;
    const after = createLayer(declaration, catalog.gridSets);
    const { couldBeMade } = partitionsOf(after, await parameters.values());
    const its = catalog.stores().get(store);
    const offers = (set: TileSetKey, of: unknown) => of === its && couldBeMade(set);
    const facets = facetsOf(declaration, catalog.gridSets);
    const above = isRecorded(catalog.record(name), facets) ? [] : await layersAbove(catalog, [name]);
    // The original document: absent fields follow the defaults.
    return { kind: 'layer', name, document: restored, layers: new Map([[name, facets]]), above, offers };
  }

  async function planGridSet(document: unknown): Promise<PlannedChange> {
    const gridSet = reader.gridSet(document);
    const { name } = gridSet;
    const former = catalog.gridSets.find(name);
    const changes = former !== null && geometryOf(former) !== geometryOf(gridSet);
    const layers = new Map(
      changes ? usersOf(name).map((layer) => [layer.name, facetsWith(layer, gridSet)]) : [],
    );
    const above = changes ? await layersAbove(catalog, [...layers.keys()]) : [];
    return { kind: 'grid-set', name, document, layers, above, offers: () => true };
  }

  function usersOf(gridSet: string): readonly Layer[] {
    return [...catalog.layers()].filter((layer) =>
      everySubset(layer).some((subset) => subset.gridSet.name === gridSet),
    );
  }

  function facetsWith({ name }: Layer, changed: GridSet): TileFacets {
    const declaration = catalog.declaration(name);
    if (!declaration) throw new TilewardenError('layer-unknown', `There is no layer ${shortened(name)}.`);
    const facets = facetsOf(declaration, catalog.gridSets);
    return { ...facets, gridSets: new Map([...facets.gridSets, [changed.name, geometryOf(changed)]]) };
  }

  async function planRemoval(kind: EntryKind, name: string): Promise<PlannedChange> {
    const isLayer = kind === 'layer';
    const users = isLayer ? await layersAbove(catalog, [name]) : usersOf(name).map((layer) => layer.name);
    const layers = new Map(isLayer ? [[name, null]] : []);
    if (users.length === 0) return { kind, name, document: null, offers: () => false, layers, above: [] };
    const named = `${users.length === 1 ? 'layer' : 'layers'} ${users.slice(0, 5).join(', ')}${users.length > 5 ? ' and others' : ''}`;
    const why = isLayer
      ? `Tiles of ${named} are drawn from the layer ${shortened(name)}; remove or change that first.`
      : `The grid set ${shortened(name)} is used by ${named}; remove it there first.`;
    throw new TilewardenError('entry-conflict', why);
  }

  /** Returns the entry; null: there is nothing to change, or it is refused. */
  async function writeFollowed(
    inside: EntryTransaction,
    { name, next, also, refused }: FollowedChange,
    by: string,
  ): Promise<CatalogEntry | null> {
    const before = (await inside.get('layer', name))?.document ?? null;
    const document = await next(before, inside.query);
    if (document === null) return null;
    let facets: TileFacets;
    try {
      facets = facetsOf(admitted(document), catalog.gridSets);
    } catch (error) {
      if (!isTilewardenError(error)) throw error;
      refused(error.message);
      return null;
    }
    await records.record(inside, name, facets, null, by);
    const entry = await inside.put({ kind: 'layer', name, document, changedBy: by });
    await also(inside.query, { before: before && reader.shown(before), document: reader.shown(document) });
    return entry;
  }

  return {
    /** Origin of a grid set of the catalog. */
    gridSetOrigin: (name: string): Origin => originOf('grid-set', name),

    /** Null: not declared. */
    async show(kind: EntryKind, name: string): Promise<ShownEntry | null> {
      const origin = originOf(kind, name);
      const full = kind === 'layer' ? (catalog.declaration(name)?.document ?? null) : null;
      const effective = reader.shown(full);
      if (origin === 'database') {
        const entry = await existingEntry(kind, name);
        if (!entry) return null;
        return { origin, version: entry.version, document: reader.shown(entry.document), effective };
      }
      const document = full ?? options.gridSetDocuments().get(name) ?? null;
      return { origin, version: null, document: reader.shown(document), effective };
    },

    /** Throws `request-invalid` when a hidden secret is no longer known. */
    put: async (kind: EntryKind, input: unknown, change: ChangeOptions): Promise<EntryChanged> =>
      applyChange(kind, nameIn(input), change, (former) =>
        kind === 'layer' ? planLayer(input, former) : planGridSet(input),
      ),

    /**
     * Changes many layers, a few per transaction; every process has applied them when it returns. Doubtful tiles have
     * their usual fate.
     */
    async putFollowed(changes: readonly FollowedChange[], by: string): Promise<void> {
      const written: CatalogEntry[] = [];
      for (let at = 0; at < changes.length; at += FOLLOWED_AT_ONCE) {
        const some = changes.slice(at, at + FOLLOWED_AT_ONCE);
        const attempt = async (inside: EntryTransaction) => {
          if (await inside.hasChanged(SHAPES, declared.version)) return null;
          const done: (CatalogEntry | null)[] = [];
          for (const change of some) done.push(await writeFollowed(inside, change, by));
          return done;
        };
        const done = await whenCurrent(() => entries.transaction(attempt));
        written.push(...done.filter((entry) => entry !== null));
        await nextTurn();
      }
      if (written.length === 0) return;
      await declared.refresh();
      await options.announce();
      await options.changed(written.map(({ name }) => name));
      for (const entry of written) await cleanUp(entry);
    },

    async remove(kind: EntryKind, name: string, change: ChangeOptions): Promise<EntryChanged> {
      return applyChange(kind, name, change, async (former) => {
        if (former) return planRemoval(kind, name);
        throw new TilewardenError('entry-unknown', `There is no ${wordFor(kind)} ${shortened(name)}.`);
      });
    },

    /** Completes changes that a crash interrupted. `isAlone`: also removes temporary declarations of the last run. */
    async finish(isAlone: boolean): Promise<void> {
      for (const { kind, name } of isAlone ? await entries.transient() : []) {
        await entries.transaction(async ({ query, put }) => {
          const pendingCleanup = await options.dependentsOf(query);
          await put({ kind, name, document: null, pendingCleanup, changedBy: 'server' });
        });
      }
      await declared.refresh();
      for (const entry of await entries.unfinished()) await cleanUp(entry);
    },
  };
}

function wordFor(kind: EntryKind): string {
  return kind === 'layer' ? 'layer' : 'grid set';
}

function nameIn(document: unknown): string {
  const name = typeof document === 'object' && document !== null && 'name' in document ? document.name : null;
  return typeof name === 'string' ? name : '';
}
