import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type TileSetKey, tileSetOf } from '../../domain/tile-key.ts';
import type { Env } from '../../lib/env.ts';
import type { BlockChanges, PageStatistics, StoreBlock } from '../tile-store.ts';
import type { BundleAccess } from './bundle-access.ts';
import { findBundleFile } from './bundle-file.ts';
import { listBundles, listFolders, listLevels } from './bundle-folders.ts';
import { type ListedBundle, pageStatistics } from './bundle-grid.ts';
import {
  type BundleCounts,
  BundleIndex,
  type BundleSummary,
  type IndexedBundle,
  stampAtRest,
  summaryOfBundle,
} from './bundle-index.ts';
import { type BundleLayout, bundleFolder, parseBundleFolder } from './bundle-layout.ts';
import { isBusy, isRefused, storeFailure } from './sqlite-failure.ts';

/** Milliseconds. The coarsest resolution of times in file systems. */
const GRAIN = 1000;
/** Milliseconds after which an open bundle belonged to a process that died. */
const ABANDONED_AFTER = 60_000;
/** Bundles compared with the index, or put to rest, before others get their turn. */
const AT_ONCE = 16;

/** Bundles read before others get their turn. */
const LOOKS_IN_A_TURN = 8;

/** A cursor of a listing from the files alone; with an index everything is listed again. */
const WITHOUT_INDEX = -1;

interface BundleBlocksParts extends Env {
  readonly layout: BundleLayout;
  readonly access: BundleAccess;
}

interface Look {
  readonly stamp: string;
  readonly stable: boolean;
}

/** Lists the content of the bundles, from the index where they rest and from the bundle itself where a process may write. */
export class BundleBlocks {
  readonly #parts: BundleBlocksParts;
  readonly #stopping = new AbortController();
  /** What open bundles looked like when they were last read. */
  readonly #looks = new Map<string, Look>();
  /** Bundles whose entry in the index is wrong and cannot be corrected on a full or read-only disk. */
  readonly #unmarked = new Set<string>();
  /** The tile set of the bundle reported last: neighbours mostly share it. */
  #lastSet: { readonly identity: string; readonly set: TileSetKey } | null = null;
  /** Null while it cannot be opened on such a disk. */
  #index: BundleIndex | null = null;
  #comparing: Promise<void> | null = null;

  constructor(parts: BundleBlocksParts) {
    this.#parts = parts;
  }

  async changes(since: number | null): Promise<BlockChanges> {
    if (!this.#index) await this.#openIndex();
    if (!this.#index?.isComplete) await this.#compareOnce();
    const from = since === WITHOUT_INDEX && this.#index ? null : since;
    const cursor = { value: this.#index ? (from ?? 0) : WITHOUT_INDEX };
    return {
      complete: from === null,
      blocks: this.#list(from, cursor),
      get cursor() {
        return cursor.value;
      },
    };
  }

  async pagesIn(ids: readonly string[]): Promise<ReadonlyMap<string, readonly PageStatistics[]>> {
    const found = new Map<string, readonly PageStatistics[]>();
    for (const [at, id] of ids.entries()) {
      if (at % LOOKS_IN_A_TURN === LOOKS_IN_A_TURN - 1) await nextTurn();
      const known = this.#unmarked.has(id) ? null : this.#index?.pagesOf(id);
      const summary = known ?? (await this.#read(id));
      if (!summary) continue;
      const { z, ...bundle } = bundlePlace(id);
      const set = this.#setOf(summary.identity);
      found.set(
        id,
        summary.pages.map((row) => pageStatistics(set, z, bundle, row)),
      );
    }
    return found;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#comparing;
    this.#index?.close();
  }

  /** What was compared without it is compared again. */
  async #openIndex(): Promise<void> {
    const { layout, access } = this.#parts;
    try {
      const index = await access.patiently(() => new BundleIndex(layout, 0));
      await this.#comparing;
      this.#comparing = null;
      this.#index = index;
    } catch (error) {
      if (!isRefused(error)) throw storeFailure(error);
    }
  }

  async *#list(since: number | null, cursor: { value: number }): AsyncGenerator<StoreBlock> {
    const open = await this.#openBundles();
    for await (const row of this.#changesAfter(since)) {
      cursor.value = row.change;
      if (row.state === 'open') open.add(row.id);
      if (row.state !== 'open') for (const known of [open, this.#looks]) known.delete(row.id);
      if (row.state === 'gone' && since !== null) yield { id: row.id, content: null };
      if (row.state === 'resting' && row.counts) yield this.#blockOf(row.id, row.counts);
    }
    const unmarked = [...this.#unmarked];
    for (const [at, id] of [...open, ...unmarked].entries()) {
      if (at % LOOKS_IN_A_TURN === LOOKS_IN_A_TURN - 1) await nextTurn();
      const block = await this.#lookAt(id, since === null);
      if (block) yield block;
    }
    for (const id of unmarked) await this.#compareOne(id);
    void this.#compareOnce();
  }

  /** Read before the changes are reported, which then include bundles opened or closed in between. */
  async #openBundles(): Promise<Set<string>> {
    const found = new Set<string>();
    const after = (row: number) => this.#index?.openAfter(row) ?? [];
    for (let rows = after(0); rows.length > 0; rows = after(rows.at(-1)?.row ?? 0)) {
      for (const { id } of rows) found.add(id);
      await nextTurn();
    }
    return found;
  }

  /** A complete index is reported first: the comparison reads every file, in the background. */
  #compareOnce(): Promise<void> {
    this.#comparing ??= this.#compare();
    return this.#comparing;
  }

  /** Null: from before the first change. */
  async *#changesAfter(since: number | null): AsyncGenerator<IndexedBundle> {
    let last: Pick<IndexedBundle, 'change' | 'id'> = { change: since ?? 0, id: since === null ? '' : LAST };
    const next = () => this.#index?.changesAfter(last) ?? [];
    for (let rows = next(); rows.length > 0; rows = next()) {
      yield* rows;
      last = rows.at(-1) ?? last;
      await nextTurn();
    }
  }

  /** Null if it has not changed, unless `again`. */
  async #lookAt(id: string, again: boolean): Promise<StoreBlock | null> {
    const { layout, clock } = this.#parts;
    const folder = `${layout.layers}/${id}`;
    const row = this.#index?.find(id) ?? null;
    const path = findBundleFile(folder);
    const look = path === null ? null : lookOf(path, clock.now());
    const known = this.#looks.get(id);
    if (!again && look && known?.stable && known.stamp === look.stamp) {
      this.#restIfAbandoned(path);
      return null;
    }
    const summary = look && (await this.#read(id));
    if (!look || !summary) {
      if (row?.state === 'open') await this.#note(id, (index) => index.gone(folder, row.change));
      return { id, content: null };
    }
    this.#looks.set(id, look);
    return this.#blockOf(id, summary);
  }

  #read(id: string): Promise<BundleSummary | null> {
    const { layout, access } = this.#parts;
    return access.read(`${layout.layers}/${id}`, ({ database, path }) => summaryOfBundle(database, path));
  }

  #blockOf(id: string, { identity, mask, tiles, bytes, diskBytes, changedAt }: BundleCounts): StoreBlock {
    const { z, bundleX: x, bundleY: y } = bundlePlace(id);
    const set = this.#setOf(identity);
    return { id, content: { set, z, x, y, mask, tiles, bytes, diskBytes, changedAt } };
  }

  #setOf(identity: string): TileSetKey {
    if (this.#lastSet?.identity !== identity) this.#lastSet = { identity, set: tileSetOf(identity) };
    return this.#lastSet.set;
  }

  #restIfAbandoned(path: string | null): void {
    const file = path === null ? null : statSync(path, { throwIfNoEntry: false });
    if (!file || path === null || this.#parts.clock.now() - file.mtimeMs < ABANDONED_AFTER) return;
    if (this.#parts.access.resting.size < AT_ONCE) void this.#parts.access.putToRest(path);
  }

  /**
   * Compares the files of the store with the index: files may have been put there or taken away by hand, and a
   * power cut may have taken the last changes of the index. What differs is marked to be looked at.
   */
  async #compare(): Promise<void> {
    const { layout, log } = this.#parts;
    try {
      const seen = new Set<string>();
      for await (const folder of bundleFolders(layout)) {
        if (this.#stopping.signal.aborted) return;
        const id = folder.slice(layout.layers.length + 1);
        seen.add(id);
        await this.#compareOne(id);
        if (seen.size % AT_ONCE === 0) await nextTurn();
      }
      await this.#markMissing(seen);
      const index = this.#index;
      if (index && this.#unmarked.size === 0) await this.#parts.access.patiently(() => index.completed());
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      log.warn(
        { err: error },
        'the index of the tile store could not be compared with the files; the next start tries again',
      );
    }
  }

  async #compareOne(id: string): Promise<void> {
    const folder = `${this.#parts.layout.layers}/${id}`;
    const path = findBundleFile(folder);
    const row = this.#index?.find(id) ?? null;
    if (isTrue(row, path)) {
      this.#unmarked.delete(id);
      return;
    }
    if (path === null) return this.#note(id, (index) => row && index.gone(folder, row.change));
    await this.#note(id, (index) => index.opened(folder));
    if (!this.#unmarked.has(id)) await this.#parts.access.putToRest(path);
  }

  async #markMissing(seen: ReadonlySet<string>): Promise<void> {
    for await (const row of this.#changesAfter(null)) {
      if (row.state === 'resting' && !seen.has(row.id)) await this.#compareOne(row.id);
    }
  }

  /** Reading continues where nothing can be written: entries that cannot be corrected are read from their bundle each time. */
  async #note(id: string, change: (index: BundleIndex) => void): Promise<void> {
    this.#unmarked.add(id);
    const index = this.#index;
    if (!index) return;
    try {
      await this.#parts.access.patiently(() => change(index));
      this.#unmarked.delete(id);
    } catch (error) {
      if (!isRefused(error) && !isBusy(error)) throw error;
    }
  }
}

/** Behind every name. */
const LAST = '\u{10FFFF}';

/** Whether the entry of a bundle is right, or says that the bundle must be read. */
function isTrue(row: IndexedBundle | null, path: string | null): boolean {
  if (row?.state === 'open') return true;
  if (path === null) return row?.state !== 'resting';
  return row?.state === 'resting' && row.stamp === stampAtRest(path);
}

/** An id is `layer/set/z/x_y`. */
function bundlePlace(id: string): ListedBundle & { readonly z: number } {
  const [, , zoom = '', place = ''] = id.split('/');
  const [bundleX, bundleY] = parseBundleFolder(place) ?? [0, 0];
  return { z: Number(zoom), bundleX, bundleY };
}

async function* bundleFolders({ layers }: BundleLayout): AsyncGenerator<string> {
  for await (const layer of listFolders(layers)) {
    for await (const set of listFolders(`${layers}/${layer}`)) {
      const setFolder = `${layers}/${layer}/${set}`;
      for await (const z of listLevels(setFolder)) {
        for await (const { bundleX, bundleY } of listBundles(setFolder, z)) {
          yield bundleFolder(setFolder, z, bundleX, bundleY);
        }
      }
    }
  }
}

function lookOf(path: string, now: number): Look | null {
  const file = statSync(path, { throwIfNoEntry: false });
  if (!file) return null;
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  const changedAt = Math.max(file.mtimeMs, log?.mtimeMs ?? 0);
  const stamp = `${path} ${file.size}:${file.mtimeMs} ${log ? `${log.size}:${log.mtimeMs}` : ''}`;
  return { stamp, stable: now - changedAt > GRAIN };
}
