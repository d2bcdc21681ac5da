import type { GridSet } from '../domain/grid-set.ts';
import { createGridSetBook } from '../domain/grid-set-book.ts';
import type { Logger } from '../lib/logger.ts';
import type { ChangeableCatalog } from './catalog.ts';
import type { CatalogEntries, CatalogEntry } from './catalog-entries.ts';
import type { LayerDeclaration } from './layer-declaration.ts';

/** Documents of layers and grid sets, in the configuration file's form. Throws `request-invalid`. */
export interface DocumentReader<Source> {
  layer(document: unknown, catalog: ChangeableCatalog<Source>): LayerDeclaration<Source>;
  gridSet(document: unknown): GridSet;
  /** As it may be shown: no secret. */
  shown(document: unknown): unknown;
  /** What was shown as hidden, and came back so, is what it was. */
  restored(document: unknown, former: unknown): unknown;
}

export interface DeclaredEntriesOptions<Source> {
  readonly entries: Pick<CatalogEntries, 'after'>;
  readonly catalog: ChangeableCatalog<Source>;
  readonly reader: Pick<DocumentReader<Source>, 'layer' | 'gridSet'>;
  readonly log: Logger;
}

const ROWS_AT_ONCE = 500;

/**
 * Brings what was declared over the network into this process's catalog. What the configuration file declares stays
 * as it is there, whatever the database says.
 */
export class DeclaredEntries<Source> {
  readonly #options: DeclaredEntriesOptions<Source>;
  readonly #fixedLayers: ReadonlySet<string>;
  readonly #fixedGridSets: readonly GridSet[];
  readonly #gridSets = new Map<string, GridSet>();
  #seen = 0;
  #refreshing: Promise<boolean> = Promise.resolve(false);

  constructor(options: DeclaredEntriesOptions<Source>) {
    this.#options = options;
    this.#fixedLayers = new Set(options.catalog.layerNames());
    this.#fixedGridSets = options.catalog.gridSets.gridSets;
  }

  isFixedLayer(name: string): boolean {
    return this.#fixedLayers.has(name);
  }

  isFixedGridSet(name: string): boolean {
    return this.#fixedGridSets.some((gridSet) => gridSet.name === name || gridSet.aliases.includes(name));
  }

  /** Afterwards this process knows every change that was durable before the call. Whether there was any. */
  refresh(): Promise<boolean> {
    this.#refreshing = this.#refreshing.catch(() => {}).then(() => this.#readNews());
    return this.#refreshing;
  }

  async #readNews(): Promise<boolean> {
    const before = this.#seen;
    for (;;) {
      const news = await this.#options.entries.after(this.#seen, ROWS_AT_ONCE);
      this.#takeGridSets(news.filter(({ kind }) => kind === 'grid-set'));
      for (const entry of news) if (entry.kind === 'layer') this.#takeLayer(entry);
      this.#seen = news.at(-1)?.version ?? this.#seen;
      if (news.length < ROWS_AT_ONCE) return this.#seen !== before;
    }
  }

  #takeGridSets(changed: readonly CatalogEntry[]): void {
    const usable = changed.filter(({ name }) => !this.isFixedGridSet(name));
    if (usable.length === 0) return;
    for (const { name, document } of usable) {
      const gridSet =
        document === null ? null : this.#attempt(name, () => this.#options.reader.gridSet(document));
      if (gridSet) this.#gridSets.set(name, gridSet);
      else this.#gridSets.delete(name);
    }
    this.#options.catalog.setGridSets(
      createGridSetBook([...this.#fixedGridSets, ...this.#gridSets.values()]),
    );
  }

  #takeLayer({ name, document }: CatalogEntry): void {
    const { catalog, reader, log } = this.#options;
    if (this.#fixedLayers.has(name)) {
      if (document !== null)
        log.warn({ layer: name }, 'the configuration file declares this layer too; the file counts');
      return;
    }
    if (document === null) {
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
      this.#options.log.error({ err: error, name }, 'what was declared under this name cannot be used');
      return null;
    }
  }
}
