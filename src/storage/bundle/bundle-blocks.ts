import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { BlockChanges, BlockContent, StoreBlock } from '../tile-store.ts';
import type { BundleAccess } from './bundle-access.ts';
import { findBundleFile, tileSetOf } from './bundle-file.ts';
import { listBundles, listFolders, listLevels } from './bundle-folders.ts';
import { BundleIndex, type BundleSummary, type IndexedBundle, stampAtRest } from './bundle-index.ts';
import { type BundleLayout, bundleFolder, parseBundleFolder } from './bundle-layout.ts';
import { pageStatistics } from './bundle-listing.ts';
import { summaryOfBundle } from './bundle-summary.ts';
import { isRefusedOpen, storeFailure } from './sqlite-failure.ts';

/** Milliseconds. File systems tell times apart no better than this, at worst. */
const GRAIN = 1000;
/** Milliseconds after which a bundle that nobody put to rest belonged to a process that died. */
const ABANDONED_AFTER = 60_000;
/** Bundles compared with the index, or put to rest, before others get their turn. */
const AT_ONCE = 16;

/** Bundles read before others get their turn. */
const LOOKS_IN_A_TURN = 8;

/** From before the first change. */
const BEGINNING = { change: 0, id: '' };

export interface BundleBlocksParts {
  readonly layout: BundleLayout;
  readonly access: BundleAccess;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Look {
  readonly stamp: string;
  readonly settled: boolean;
}

/** Tells what the bundles hold, from the index where they rest and from the bundle itself where somebody may write. */
export class BundleBlocks {
  readonly #parts: BundleBlocksParts;
  readonly #index: BundleIndex;
  readonly #stopping = new AbortController();
  /** What open bundles looked like when they were last read. */
  readonly #looks = new Map<string, Look>();
  #comparing: Promise<void> | null = null;

  constructor(parts: BundleBlocksParts) {
    this.#parts = parts;
    this.#index = openIndex(parts.layout);
  }

  async changes(since: number | null): Promise<BlockChanges> {
    if (!this.#comparing) this.#comparing = this.#compare();
    if (!this.#index.isComplete) await this.#comparing;
    const cursor = { value: since ?? 0 };
    return {
      complete: since === null,
      blocks: this.#tell(since, cursor),
      get cursor() {
        return cursor.value;
      },
    };
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#comparing;
    this.#index.close();
  }

  async *#tell(since: number | null, cursor: { value: number }): AsyncGenerator<StoreBlock> {
    let last: Pick<IndexedBundle, 'change' | 'id'> = since === null ? BEGINNING : { change: since, id: LAST };
    for (let rows = this.#changesAfter(last); rows.length > 0; rows = this.#changesAfter(last)) {
      for (const row of rows) {
        last = row;
        cursor.value = row.change;
        if (row.state !== 'open') this.#looks.delete(row.id);
        if (row.state === 'gone' && since !== null) yield { id: row.id, content: null };
        if (row.state === 'resting' && row.summary) yield blockOf(row.id, row.summary);
      }
      await nextTurn();
    }
    for (const [at, row] of this.#index.open().entries()) {
      if (at % LOOKS_IN_A_TURN === LOOKS_IN_A_TURN - 1) await nextTurn();
      const block = await this.#lookAt(row);
      if (block) yield block;
    }
  }

  #changesAfter(row: Pick<IndexedBundle, 'change' | 'id'>): readonly IndexedBundle[] {
    return this.#index.changesAfter(row);
  }

  /** Null when it is as it was. */
  async #lookAt(row: IndexedBundle): Promise<StoreBlock | null> {
    const { layout, access, clock } = this.#parts;
    const folder = `${layout.layers}/${row.id}`;
    const path = findBundleFile(folder);
    const look = path === null ? null : lookOf(path, clock.now());
    const known = this.#looks.get(row.id);
    if (look && known?.settled && known.stamp === look.stamp) {
      this.#restIfAbandoned(path);
      return null;
    }
    const summary =
      look && (await access.read(folder, (bundle) => summaryOfBundle(bundle.database, bundle.path)));
    if (!look || !summary) return this.#miss(row, folder);
    this.#looks.set(row.id, look);
    return blockOf(row.id, summary);
  }

  async #miss(row: IndexedBundle, folder: string): Promise<StoreBlock> {
    await this.#parts.access.patiently(() => this.#index.gone(folder, row.change));
    return { id: row.id, content: null };
  }

  #restIfAbandoned(path: string | null): void {
    const file = path === null ? null : statSync(path, { throwIfNoEntry: false });
    if (!file || path === null || this.#parts.clock.now() - file.mtimeMs < ABANDONED_AFTER) return;
    if (this.#parts.access.resting < AT_ONCE) void this.#parts.access.putToRest(path);
  }

  /**
   * Compares all that lies in the store with the index: files may have been put there or taken away by hand, and a
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
        await this.#compareOne(id, folder);
        if (seen.size % AT_ONCE === 0) await nextTurn();
      }
      await this.#markMissing(seen);
      await this.#parts.access.patiently(() => this.#index.completed());
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      log.warn(
        { err: error },
        'the index of the tile store could not be compared with the files; the next start tries again',
      );
    }
  }

  async #compareOne(id: string, folder: string): Promise<void> {
    const path = findBundleFile(folder);
    const row = this.#index.find(id);
    if (path === null || row?.state === 'open') return;
    if (row?.state === 'resting' && row.stamp === stampAtRest(path)) return;
    await this.#parts.access.patiently(() => this.#index.opened(folder));
    await this.#parts.access.putToRest(path);
  }

  async #markMissing(seen: ReadonlySet<string>): Promise<void> {
    let last: Pick<IndexedBundle, 'change' | 'id'> = BEGINNING;
    for (let rows = this.#changesAfter(last); rows.length > 0; rows = this.#changesAfter(last)) {
      for (const row of rows) {
        last = row;
        if (row.state !== 'resting' || seen.has(row.id)) continue;
        const folder = `${this.#parts.layout.layers}/${row.id}`;
        if (!findBundleFile(folder))
          await this.#parts.access.patiently(() => this.#index.gone(folder, row.change));
      }
      await nextTurn();
    }
  }
}

/** Behind every name. */
const LAST = '\u{10FFFF}';

/** In memory where none can be made: a disk that may only be read or has no room. It is then filled at each start. */
function openIndex(layout: BundleLayout): BundleIndex {
  try {
    return new BundleIndex(layout, 0);
  } catch (error) {
    if (!isRefusedOpen(error)) throw storeFailure(error);
    return new BundleIndex({ ...layout, index: ':memory:' }, 0);
  }
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
  return { stamp, settled: now - changedAt > GRAIN };
}

/** `layer/set/z/x_y` */
function blockOf(id: string, { identity, diskBytes, changedAt, pages }: BundleSummary): StoreBlock {
  const [, , zoom = '', place = ''] = id.split('/');
  const [bundleX, bundleY] = parseBundleFolder(place) ?? [0, 0];
  const set = tileSetOf(identity);
  const z = Number(zoom);
  const content: BlockContent = {
    set,
    z,
    diskBytes,
    changedAt,
    pages: pages.map((row) => pageStatistics(set, z, { bundleX, bundleY }, row)),
  };
  return { id, content };
}
