import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGridSetRegistry, type GridSet } from '../domain/grid-set.ts';
import type { Logger } from '../lib/logger.ts';
import { isRecord } from '../lib/value-path.ts';
import { isSameJson } from '../lib/write-json.ts';
import { sameAreas } from './areas.ts';
import type { ChangeableCatalog } from './catalog.ts';
import type { CatalogEntries, CatalogEntry } from './catalog-entries.ts';
import type { TileRecord } from './incarnations.ts';
import type { LayerDeclaration } from './layer-declaration.ts';
import { readSeededTimes, readTimeLists } from './time-lists.ts';

/** Documents of layers and grid sets, in the configuration file's form. Throws `request-invalid`. */
export interface DocumentReader<Source> {
  layer(document: unknown, catalog: ChangeableCatalog<Source>): LayerDeclaration<Source>;
  gridSet(document: unknown): GridSet;
  /** A document to show, without secrets. */
  shown(document: unknown): unknown;
  /** A secret that comes back in its hidden form is unchanged. Throws `request-invalid` for one that is not in `former`. */
  restored(document: unknown, former: unknown): unknown;
}

type Reader<Source> = Pick<DocumentReader<Source>, 'layer' | 'gridSet'>;

interface DeclaredEntriesOptions<Source> {
  readonly entries: Pick<CatalogEntries, 'after'>;
  readonly catalog: ChangeableCatalog<Source>;
  /** Called when there is a document to read. */
  readonly reader: () => Promise<Reader<Source>>;
  /** Applies the changed record of an area. */
  readonly takeArea?: (name: string, document: unknown) => Promise<void>;
  readonly log: Logger;
}

const ROWS_AT_ONCE = 500;
const FILE_WINS = 'a layer is declared both in the configuration file and over HTTP; the file is used';

/**
 * Applies the declarations of the database to this process's catalog. Those of the configuration file take precedence.
 */
export class DeclaredEntries<Source> {
  readonly #options: DeclaredEntriesOptions<Source>;
  #fixedLayers: ReadonlySet<string>;
  #fixedGridSets: readonly GridSet[];
  /** Documents of layers in the database, even if the file declares them too. */
  readonly #documents = new Map<string, unknown>();
  readonly #gridSets = new Map<string, GridSet>();
  #reader: Reader<Source> | null = null;
  #seen = 0;
  #refreshing: Promise<boolean> = Promise.resolve(false);

  constructor(options: DeclaredEntriesOptions<Source>) {
    this.#options = options;
    this.#fixedLayers = new Set(options.catalog.layerNames());
    this.#fixedGridSets = options.catalog.gridSets.gridSets;
  }

  /** The version of the last entry applied. */
  get version(): number {
    return this.#seen;
  }

  isFixedLayer(name: string): boolean {
    return this.#fixedLayers.has(name);
  }

  /** As it was sent; undefined: no layer of the database. */
  documentOf(name: string): unknown {
    return this.isFixedLayer(name) ? undefined : this.#documents.get(name);
  }

  isFixedGridSet(name: string): boolean {
    return this.#fixedGridSets.some((gridSet) => gridSet.name === name || gridSet.aliases.includes(name));
  }

  /** The layers that have feeds of their own, or times, without reading the other layers. */
  *withFeeds(): Generator<string> {
    const { catalog } = this.#options;
    for (const name of this.#fixedLayers) if (hasFeeds(catalog.declaration(name))) yield name;
    for (const [name, document] of this.#documents) {
      if (!this.#fixedLayers.has(name) && hasFeeds(document)) yield name;
    }
  }

  /** The configuration file was read again. Returns the names of layers and grid sets that have changed. */
  applyConfigFile(
    layers: readonly LayerDeclaration<Source>[],
    gridSets: readonly GridSet[],
  ): readonly string[] {
    const { catalog } = this.#options;
    const former = this.#fixedLayers;
    const changed = differing(this.#fixedGridSets, gridSets);
    const fresh = layers.filter(({ name, document, areas }) => {
      const before = former.has(name) ? catalog.declaration(name) : null;
      return !before || !isSameJson(before.document, document) || !sameAreas(before.areas, areas);
    });
    this.#fixedLayers = new Set(layers.map(({ name }) => name));
    this.#fixedGridSets = gridSets;
    if (changed.length > 0) this.#setGridSets();
    for (const layer of fresh) {
      catalog.setLayer(layer.name, () => layer);
      if (!former.has(layer.name)) this.#warnOfFile(layer.name);
    }
    const gone = [...former].filter((name) => !this.#fixedLayers.has(name));
    for (const name of gone) this.#setLayer(name);
    const clipped = this.#clippedOtherwise();
    for (const name of clipped) this.#setLayer(name);
    return [...changed, ...fresh.map(({ name }) => name), ...gone, ...clipped];
  }

  /** Layers of the database whose areas have changed. */
  #clippedOtherwise(): readonly string[] {
    const { catalog } = this.#options;
    const others = [...this.#documents].filter(([name]) => !this.#fixedLayers.has(name));
    return others
      .filter(([name, document]) => {
        const before = catalog.declaration(name)?.areas;
        const now = before && this.#attempt(name, () => this.#reader?.layer(document, catalog))?.areas;
        return before && now && !sameAreas(before, now);
      })
      .map(([name]) => name);
  }

  /** Applies every change that was durable before the call; returns whether there was any. */
  refresh(): Promise<boolean> {
    this.#refreshing = this.#refreshing.catch(() => {}).then(() => this.#readChanges());
    return this.#refreshing;
  }

  async #readChanges(): Promise<boolean> {
    const before = this.#seen;
    for (;;) {
      const entries = await this.#options.entries.after(this.#seen, ROWS_AT_ONCE);
      if (entries.some(({ kind }) => kind === 'layer' || kind === 'grid-set'))
        this.#reader ??= await this.#options.reader();
      this.#takeGridSets(entries.filter(({ kind }) => kind === 'grid-set'));
      for (const { kind, name, document } of entries)
        if (kind === 'area') await this.#options.takeArea?.(name, document);
      for (const entry of entries) if (entry.kind === 'layer') this.#takeLayer(entry);
      for (const entry of entries) await this.#takeState(entry);
      this.#seen = entries.at(-1)?.version ?? this.#seen;
      if (entries.length < ROWS_AT_ONCE) return this.#seen !== before;
      // SQLite reads synchronously: all pages would otherwise be read in one turn.
      await nextTurn();
    }
  }

  /** Applies records and times. */
  async #takeState({ kind, name, document, version }: CatalogEntry): Promise<void> {
    const { catalog } = this.#options;
    if (kind === 'tiles') catalog.setRecord(name, document as TileRecord);
    if (kind === 'seeded-times') catalog.setSeededTimes(name, readSeededTimes(document));
    if (kind === 'times') catalog.setTimes(name, await readTimeLists(document, version));
  }

  #takeGridSets(changed: readonly CatalogEntry[]): void {
    if (changed.length === 0) return;
    for (const { name, document } of changed) {
      const gridSet = document === null ? null : this.#attempt(name, () => this.#reader?.gridSet(document));
      if (gridSet) this.#gridSets.set(name, gridSet);
      else this.#gridSets.delete(name);
    }
    this.#setGridSets();
  }

  #setGridSets(): void {
    const own = [...this.#gridSets.values()].filter(({ name }) => !this.isFixedGridSet(name));
    this.#options.catalog.setGridSets(createGridSetRegistry([...this.#fixedGridSets, ...own]));
  }

  #takeLayer({ name, document }: CatalogEntry): void {
    if (document === null) this.#documents.delete(name);
    else this.#documents.set(name, document);
    if (!this.#fixedLayers.has(name)) this.#setLayer(name);
    else this.#warnOfFile(name);
  }

  #warnOfFile(layer: string): void {
    if (this.#documents.has(layer)) this.#options.log.warn({ layer }, FILE_WINS);
  }

  #setLayer(name: string): void {
    const { catalog } = this.#options;
    const reader = this.#reader;
    const document = this.#documents.get(name);
    if (document === undefined || !reader) {
      catalog.removeLayer(name);
      return;
    }
    let read: LayerDeclaration<Source> | null | undefined;
    catalog.setLayer(name, () => {
      if (read === undefined) read = this.#attempt(name, () => reader.layer(document, catalog));
      return read;
    });
  }

  /** One entry that this version cannot use does not stop the others. */
  #attempt<Read>(name: string, read: () => Read): Read | null {
    try {
      return read();
    } catch (error) {
      this.#options.log.error({ err: error, name }, 'a declaration is invalid and ignored');
      return null;
    }
  }
}

function hasFeeds(document: unknown): boolean {
  const { updateSources = [], parameters = [] } = isRecord(document) ? document : {};
  if (Array.isArray(updateSources) && updateSources.length > 0) return true;
  return Array.isArray(parameters) && parameters.some((one) => isRecord(one) && one.type === 'time');
}

function differing(before: readonly GridSet[], after: readonly GridSet[]): readonly string[] {
  const old = new Map(before.map((gridSet) => [gridSet.name, gridSet]));
  const fresh = after
    .filter((gridSet) => !isSameJson(old.get(gridSet.name), gridSet))
    .map(({ name }) => name);
  const gone = [...old.keys()].filter((name) => !after.some((gridSet) => gridSet.name === name));
  return [...fresh, ...gone];
}
