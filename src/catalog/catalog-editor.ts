import { shortened, TilewardenError } from '../domain/errors.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { everySubset, type Layer } from '../domain/layer.ts';
import { selectParameters } from '../domain/parameter-filter.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { Clock } from '../lib/clock.ts';
import type { ChangeableCatalog } from './catalog.ts';
import type { CatalogEntries, CatalogEntry, Drop, EntryKind } from './catalog-entries.ts';
import { createLayer } from './create-layer.ts';
import type { DeclaredEntries, DocumentReader } from './declared-entries.ts';
import type { LayerDeclaration } from './layer-declaration.ts';
import type { ParameterBook, ParameterValues } from './parameter-book.ts';

type Origin = 'program' | 'file' | 'database';

export interface ShownEntry {
  readonly origin: Origin;
  /** Null: it cannot be changed over the network. */
  readonly version: number | null;
  /** In the configuration file's form, secrets hidden; null: it comes with the program. */
  readonly document: unknown;
  /** What its form could not hold. */
  readonly aside: unknown;
}

interface PlannedChange extends Pick<CatalogEntry, 'name' | 'document' | 'drops'> {
  readonly kind: EntryKind;
  readonly tileSets: readonly Affected[];
}

interface Affected {
  readonly set: TileSetKey;
  readonly fate: Fate;
}

export interface EntryChanged {
  readonly kind: EntryKind;
  readonly name: string;
  readonly created: boolean;
  /** Null: it was removed, or nothing was changed yet. */
  readonly version: number | null;
  readonly document: unknown;
  readonly tileSets: readonly Affected[];
}

interface ChangeOptions {
  /** What the caller believes to be there; null: nothing; absent: whatever is there. */
  readonly expected?: number | null;
  readonly by: string;
  /** Only says what would become of cached tiles. */
  readonly dryRun: boolean;
  readonly aside?: unknown;
}

export type CatalogEditor = ReturnType<typeof createCatalogEditor>;

interface CatalogEditorOptions<Source> {
  readonly catalog: ChangeableCatalog<Source>;
  readonly entries: CatalogEntries;
  readonly declared: DeclaredEntries<Source>;
  readonly reader: DocumentReader<Source>;
  /** Throws when such a source is not accepted over the network. */
  readonly admit: (source: Source) => void;
  readonly parameters: Pick<ParameterBook, 'values'>;
  /** File form of the grid sets that the configuration file declares now. */
  readonly gridSetDocuments: () => ReadonlyMap<string, unknown>;
  readonly events: TileEvents;
  readonly clock: Pick<Clock, 'now'>;
  /** Resolves when every other process of the installation has refreshed its catalog. */
  readonly announce: () => Promise<void>;
  /** A layer has gone; what belonged to it goes too. */
  readonly removed: (layer: string, by: string) => Promise<void>;
}

/** Changes what is declared, durably, and in every process before it returns. */
export function createCatalogEditor<Source>(options: CatalogEditorOptions<Source>) {
  const { catalog, entries, declared, reader, parameters, events, clock } = options;

  function refuseFixed(kind: EntryKind, name: string): void {
    const fixed = kind === 'layer' ? declared.isFixedLayer(name) : declared.isFixedGridSet(name);
    if (!fixed) return;
    const why =
      originOf(kind, name) === 'program'
        ? 'comes with the program; declare one with another name'
        : 'is declared in the configuration file; change it there';
    throw new TilewardenError('entry-read-only', `The ${wordFor(kind)} ${shortened(name)} ${why}.`);
  }

  function originOf(kind: EntryKind, name: string): Origin {
    if (kind === 'layer') return declared.isFixedLayer(name) ? 'file' : 'database';
    if (!declared.isFixedGridSet(name)) return 'database';
    return options.gridSetDocuments().has(name) ? 'file' : 'program';
  }

  async function living(kind: EntryKind, name: string): Promise<CatalogEntry | null> {
    const entry = await entries.get(kind, name);
    return entry && entry.document !== null ? entry : null;
  }

  /** Only says what would be, where that is wanted. */
  async function carryThrough(
    { tileSets, drops, ...change }: PlannedChange,
    former: CatalogEntry | null,
    { expected, by, dryRun, aside = null }: ChangeOptions,
  ): Promise<EntryChanged> {
    const { kind, name, document } = change;
    const done = { kind, name, document: reader.shown(document), tileSets, created: former === null };
    if (dryRun) return { ...done, version: null };
    const entry = await entries.put({
      ...change,
      aside,
      drops,
      changedBy: by,
      ...(expected !== undefined && { expected }),
    });
    await declared.refresh();
    await options.announce();
    await carryOut(entry);
    if (kind === 'layer' && document === null) await options.removed(name, by);
    return { ...done, version: document === null ? null : entry.version };
  }

  /** The generation rises first, so that nothing fetched earlier follows into the store. */
  async function carryOut(entry: CatalogEntry): Promise<void> {
    if (entry.drops.length === 0) return;
    for (const { layer, set } of entry.drops) {
      for (const store of catalog.stores().values()) {
        await store.raiseGeneration(layer);
        await (set ? store.dropTileSet(set) : store.dropLayer(layer));
      }
      events.emit({ type: 'layer-dropped', layer, at: clock.now() });
    }
    await entries.dropped(entry);
  }

  async function effectsOnLayer(declaration: LayerDeclaration<Source>): Promise<readonly Affected[]> {
    const { name } = declaration;
    const former = catalog.layer(name);
    const after = createLayer(declaration, catalog.gridSets);
    const store = catalog.stores().get(declaration.store);
    const values = await parameters.values();
    const before = former?.layer ?? after;
    return await affected(name, (set, its) =>
      fateOf(set, { before, after, sameStore: its === store, values }),
    );
  }

  /** Of a grid set that changes, or goes. */
  async function effectsOnUsers(gridSet: string): Promise<readonly Affected[]> {
    const found: Affected[] = [];
    for (const layer of catalog.layers()) {
      if (!everySubset(layer).some((subset) => subset.gridSet.name === gridSet)) continue;
      found.push(...(await affected(layer.name, (set) => (set.gridSet === gridSet ? 'truncated' : 'kept'))));
    }
    return found.filter(({ fate }) => fate === 'truncated');
  }

  async function affected(
    layer: string,
    judge: (set: TileSetKey, store: unknown) => Fate,
  ): Promise<readonly Affected[]> {
    const found: Affected[] = [];
    for (const store of catalog.stores().values()) {
      for await (const set of store.tileSets(layer)) found.push({ set, fate: judge(set, store) });
    }
    return found;
  }

  async function planLayer(given: unknown, former: CatalogEntry | null): Promise<PlannedChange> {
    const restored = reader.restored(given, former?.document);
    const declaration = reader.layer(restored, catalog);
    const { name, document, source } = declaration;
    options.admit(source);
    const tileSets = await effectsOnLayer(declaration);
    return { kind: 'layer', name, document, tileSets, drops: dropsOf(tileSets) };
  }

  async function planGridSet(document: unknown): Promise<PlannedChange> {
    const gridSet = reader.gridSet(document);
    const former = catalog.gridSets.find(gridSet.name);
    const tileSets = former && gridOf(former) !== gridOf(gridSet) ? await effectsOnUsers(gridSet.name) : [];
    return { kind: 'grid-set', name: gridSet.name, document, tileSets, drops: dropsOf(tileSets) };
  }

  async function planRemoval(kind: EntryKind, name: string): Promise<PlannedChange> {
    if (kind === 'layer') {
      const tileSets = await affected(name, () => 'truncated');
      return { kind, name, document: null, tileSets, drops: [{ layer: name, set: null }] };
    }
    const users = [...catalog.layers()].filter((layer) =>
      everySubset(layer).some(({ gridSet }) => gridSet.name === name),
    );
    if (users.length === 0) return { kind, name, document: null, tileSets: [], drops: [] };
    const names = users.slice(0, 5).map((layer) => layer.name);
    throw new TilewardenError(
      'entry-conflict',
      `The grid set ${shortened(name)} is used by ${users.length === 1 ? 'layer' : 'layers'} ${names.join(', ')}${users.length > 5 ? ' and others' : ''}; remove it there first.`,
    );
  }

  return {
    /** Null: nobody has declared it. */
    async show(kind: EntryKind, name: string): Promise<ShownEntry | null> {
      const origin = originOf(kind, name);
      if (origin === 'database') {
        const entry = await living(kind, name);
        if (!entry) return null;
        const { version, document, aside } = entry;
        return { origin, version, document: reader.shown(document), aside };
      }
      const document =
        kind === 'layer' ? catalog.declaration(name)?.document : options.gridSetDocuments().get(name);
      return { origin, version: null, document: reader.shown(document ?? null), aside: null };
    },

    async put(kind: EntryKind, given: unknown, change: ChangeOptions): Promise<EntryChanged> {
      refuseFixed(kind, nameIn(given));
      const former = await living(kind, nameIn(given));
      const plan = kind === 'layer' ? await planLayer(given, former) : await planGridSet(given);
      return await carryThrough(plan, former, change);
    },

    async remove(kind: EntryKind, name: string, change: ChangeOptions): Promise<EntryChanged> {
      refuseFixed(kind, name);
      const former = await living(kind, name);
      if (!former)
        throw new TilewardenError('entry-unknown', `There is no ${wordFor(kind)} ${shortened(name)}.`);
      return await carryThrough(await planRemoval(kind, name), former, change);
    },

    /** Forgets what was not to outlive the last run, and does what a crash left undone. */
    async finish(): Promise<void> {
      for (const { kind, name } of await entries.transient()) {
        await entries.put({ kind, name, document: null, aside: null, drops: [], changedBy: 'server' });
        await options.removed(name, 'server');
      }
      await declared.refresh();
      for (const entry of await entries.unfinished()) await carryOut(entry);
    },
  };
}

function dropsOf(tileSets: readonly Affected[]): readonly Drop[] {
  return tileSets.filter(({ fate }) => fate === 'truncated').map(({ set }) => ({ layer: set.layer, set }));
}

function wordFor(kind: EntryKind): string {
  return kind === 'layer' ? 'layer' : 'grid set';
}

function nameIn(document: unknown): string {
  const name = typeof document === 'object' && document !== null && 'name' in document ? document.name : null;
  return typeof name === 'string' ? name : '';
}

/** What becomes of cached tiles: they are right as they are, wrong and removed, or cannot be asked for any more. */
export type Fate = 'kept' | 'truncated' | 'orphaned';

interface LayerChange {
  readonly before: Layer;
  readonly after: Layer;
  /** Whether both keep their tiles in the same store. */
  readonly sameStore: boolean;
  /** By parameters id. */
  readonly values: ReadonlyMap<string, ParameterValues>;
}

function fateOf(set: TileSetKey, { before, after, sameStore, values }: LayerChange): Fate {
  const subset = everySubset(after).find(({ gridSet }) => gridSet.name === set.gridSet);
  const offered = after.formats.some(({ mediaType }) => mediaType === set.format);
  if (!sameStore || !subset || !offered) return 'orphaned';
  if (set.parametersId === null) {
    // Such tiles show what all defaults stand for.
    return defaultsOf(before) === defaultsOf(after) ? 'kept' : 'truncated';
  }
  const noted = values.get(set.parametersId);
  return noted && idOf(after, noted) !== set.parametersId ? 'orphaned' : 'kept';
}

/** The same for grid sets whose tiles are the same. */
function gridOf({ srs, extent, tileWidth, tileHeight, levels }: GridSet): string {
  const ladder = levels.map(({ resolution, columns, rows, top }) => [resolution, columns, rows, top]);
  return JSON.stringify([srs, extent, tileWidth, tileHeight, ladder]);
}

function defaultsOf({ parameters }: Layer): string {
  const given = parameters.filter(({ defaultValue }) => defaultValue !== '');
  return JSON.stringify(given.map(({ name, defaultValue }) => [name.toUpperCase(), defaultValue]).sort());
}

function idOf(layer: Layer, values: ParameterValues): string | null {
  try {
    return selectParameters(layer.parameters, values).id;
  } catch {
    return null;
  }
}
