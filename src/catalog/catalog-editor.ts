import { shortened, TilewardenError } from '../domain/errors.ts';
import type { GridSetBook } from '../domain/grid-set-book.ts';
import { everySubset } from '../domain/layer.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { Clock } from '../lib/clock.ts';
import { NO_CHANGE, type StoreChange, sumOfChanges, type TileStore } from '../storage/tile-store.ts';
import type { ChangeableCatalog } from './catalog.ts';
import type { CatalogEntries, CatalogEntry, Drop, EntryKind } from './catalog-entries.ts';
import { createLayer } from './create-layer.ts';
import type { DeclaredEntries, DocumentReader } from './declared-entries.ts';
import type { LayerDeclaration } from './layer-declaration.ts';
import type { ParameterBook } from './parameter-book.ts';
import {
  type Affected,
  carryOutDrop,
  dropsOf,
  type Fate,
  fateOf,
  gridOf,
  type TileChoice,
  usualChoice,
  withChoice,
} from './tile-fate.ts';

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
  readonly usual: TileChoice;
}

export interface EntryChanged {
  readonly kind: EntryKind;
  readonly name: string;
  readonly created: boolean;
  /** Null: it was removed, or nothing was changed yet. */
  readonly version: number | null;
  readonly document: unknown;
  /** As it was, secrets hidden; null: there was none. */
  readonly before: unknown;
  readonly tileSets: readonly Affected[];
  /** What becomes of doubtful tiles when the caller does not choose. */
  readonly usual: TileChoice;
}

/** What the configuration file declares. */
interface FixedEntries<Source> {
  readonly layers: readonly LayerDeclaration<Source>[];
  readonly gridSets: GridSetBook;
}

interface ChangeOptions {
  /** What the caller believes to be there; null: nothing; absent: whatever is there. */
  readonly expected?: number | null;
  readonly by: string;
  /** Only says what would become of cached tiles. */
  readonly dryRun: boolean;
  readonly aside?: unknown;
  /** What becomes of doubtful tiles; null: what is usual. */
  readonly tiles?: TileChoice | null;
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
    { tileSets, usual, drops, ...change }: PlannedChange,
    former: CatalogEntry | null,
    { expected, by, dryRun, aside = null }: ChangeOptions,
  ): Promise<EntryChanged> {
    const { kind, name, document } = change;
    const before = former && reader.shown(former.document);
    const done = { kind, name, document: reader.shown(document), before, tileSets, usual, created: !former };
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

  async function carryOut(entry: CatalogEntry): Promise<void> {
    if (entry.drops.length === 0) return;
    await dropAll(entry.drops);
    await entries.dropped(entry);
  }

  async function dropAll(drops: readonly Drop[]): Promise<void> {
    for (const drop of drops) {
      for (const store of catalog.stores().values()) await carryOutDrop(store, drop);
      events.emit({ type: 'layer-dropped', layer: drop.layer, at: clock.now() });
    }
  }

  async function effectsOnLayer(
    declaration: LayerDeclaration<Source>,
    gridSets = catalog.gridSets,
  ): Promise<readonly Affected[]> {
    const { name } = declaration;
    const former = catalog.layer(name);
    const after = createLayer(declaration, gridSets);
    const store = catalog.stores().get(declaration.store);
    const values = await parameters.values();
    const before = former?.layer ?? after;
    const sameSource = !former || isSame(former.declared?.source, declaration.source);
    return await affected(name, (set, its) =>
      fateOf(set, { before, after, sameSource, sameStore: its === store, values }),
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
      for await (const set of store.tileSets(layer)) {
        const fate = judge(set, store);
        found.push({ set, fate, ...(fate === 'kept' ? NO_CHANGE : await amountIn(store, set)) });
      }
    }
    return found;
  }

  async function planLayer(
    given: unknown,
    former: CatalogEntry | null,
    choice: TileChoice | null,
  ): Promise<PlannedChange> {
    const restored = reader.restored(given, former?.document);
    const declaration = reader.layer(restored, catalog);
    const { name, document, source } = declaration;
    options.admit(source);
    return { kind: 'layer', name, document, ...chosen(await effectsOnLayer(declaration), choice) };
  }

  async function planGridSet(document: unknown, choice: TileChoice | null): Promise<PlannedChange> {
    const gridSet = reader.gridSet(document);
    const former = catalog.gridSets.find(gridSet.name);
    const effects = former && gridOf(former) !== gridOf(gridSet) ? await effectsOnUsers(gridSet.name) : [];
    return { kind: 'grid-set', name: gridSet.name, document, ...chosen(effects, choice) };
  }

  async function dropsOfFile({ layers, gridSets }: FixedEntries<Source>): Promise<readonly Drop[]> {
    const found: Affected[] = [];
    for (const former of catalog.gridSets.gridSets) {
      const after = gridSets.find(former.name);
      if (after && gridOf(former) !== gridOf(after)) found.push(...(await effectsOnUsers(former.name)));
    }
    for (const declaration of layers) {
      const { name, document } = declaration;
      if (isSame(catalog.declaration(name)?.document, document)) continue;
      found.push(...(await effectsOnLayer(declaration, gridSets)));
    }
    return dropsOf(found);
  }

  async function planRemoval(kind: EntryKind, name: string): Promise<PlannedChange> {
    if (kind === 'layer') {
      const tileSets = await affected(name, () => 'truncated');
      return { kind, name, document: null, tileSets, usual: 'drop', drops: [{ layer: name, set: null }] };
    }
    const users = [...catalog.layers()].filter((layer) =>
      everySubset(layer).some(({ gridSet }) => gridSet.name === name),
    );
    if (users.length === 0) return { kind, name, document: null, tileSets: [], usual: 'keep', drops: [] };
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
      const choice = change.tiles ?? null;
      const plan =
        kind === 'layer' ? await planLayer(given, former, choice) : await planGridSet(given, choice);
      return await carryThrough(plan, former, change);
    },

    /** A layer as the audit log has it. Throws `request-invalid` when a hidden secret is not known any longer. */
    async restore(document: object, by: string): Promise<EntryChanged> {
      const former = await living('layer', nameIn(document));
      if (reader.hidesSecrets(reader.restored(document, former?.document))) {
        throw new TilewardenError(
          'request-invalid',
          'The log hides secrets of this layer, and they are not stored any longer. Declare the layer with PUT and give them again.',
        );
      }
      refuseFixed('layer', nameIn(document));
      return await carryThrough(await planLayer(document, former, null), former, { by, dryRun: false });
    },

    async remove(kind: EntryKind, name: string, change: ChangeOptions): Promise<EntryChanged> {
      refuseFixed(kind, name);
      const former = await living(kind, name);
      if (!former)
        throw new TilewardenError('entry-unknown', `There is no ${wordFor(kind)} ${shortened(name)}.`);
      return await carryThrough(await planRemoval(kind, name), former, change);
    },

    /**
     * The configuration file was read again, and `apply` brings it into this process; `announce` into the others. Tiles
     * that the change makes doubtful fare as those of a layer that is changed over the network.
     */
    async replaceFixed<Applied>(next: FixedEntries<Source>, apply: () => Promise<Applied>): Promise<Applied> {
      const drops = await dropsOfFile(next);
      const applied = await apply();
      await dropAll(drops);
      return applied;
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

function chosen(effects: readonly Affected[], choice: TileChoice | null) {
  const tileSets = withChoice(effects, choice);
  return { tileSets, usual: usualChoice(effects), drops: dropsOf(tileSets) };
}

/** From the page tables alone. */
async function amountIn(store: TileStore, set: TileSetKey): Promise<StoreChange> {
  let amount: StoreChange = NO_CHANGE;
  for await (const page of store.pages(set)) amount = sumOfChanges([amount, page]);
  return amount;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function wordFor(kind: EntryKind): string {
  return kind === 'layer' ? 'layer' : 'grid set';
}

function nameIn(document: unknown): string {
  const name = typeof document === 'object' && document !== null && 'name' in document ? document.name : null;
  return typeof name === 'string' ? name : '';
}
