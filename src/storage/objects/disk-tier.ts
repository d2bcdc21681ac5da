import { randomBytes } from 'node:crypto';
import { NEVER_REQUESTED } from '../../domain/page-rank.ts';
import { PAGE_SIZE, pageOf, type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import { blockAt, rectOfTile } from '../../domain/tile-rect.ts';
import type { Env } from '../../lib/env.ts';
import { openRepeater, type Repeater } from '../../lib/repeat.ts';
import type { IndexedTile } from '../index/directory.ts';
import { pagesIn } from '../read-tiles.ts';
import type { PageUsage, Store, StoredTile, TileChange } from '../store.ts';

interface DiskTierOptions extends Env {
  /** The store of the copies. Closed by the caller. */
  readonly copies: Store;
  /** Limit of bytes. */
  readonly size: number;
}

/** A tile of the index with its place, and its `making` as readers see it, with open marks applied. */
export interface ShownTile extends IndexedTile {
  readonly x: number;
  readonly y: number;
}

interface TileCopy {
  readonly tile: ShownTile;
  readonly bytes: Buffer;
}

/** Milliseconds. */
const UPKEEP_INTERVAL_MS = 5000;
/** The share of the size that remains after an eviction. */
const SHARE_AFTER_EVICTION = 0.9;
/** Limit of packs that wait to be copied; further ones are not copied. */
const MAX_WAITING = 64;

/**
 * Copies of a shared store's tiles on this machine's disk. Each is stored with the number of its object, and is valid only
 * if the index names the same object, so that it is never older than the store. While the index is unreachable, only
 * copies are served that this process has made and that no change has touched.
 */
export class DiskTier {
  readonly #options: DiskTierOptions;
  /** Pages that were read since their uses were last stored with the copies. */
  readonly #used = new Map<string, Pick<PageUsage, 'set' | 'z' | 'pageX' | 'pageY'>>();
  readonly #changes = new KnownChanges();
  readonly #upkeep: Repeater;
  /** Distinguishes the copies of this process from those of earlier ones. */
  readonly #processId = randomBytes(6).toString('hex');
  #waiting = 0;
  #copying: Promise<unknown> = Promise.resolve();

  constructor(options: DiskTierOptions) {
    this.#options = options;
    const failure = 'could not evict copies from the disk tier';
    const pause = { pause: UPKEEP_INTERVAL_MS, failure };
    this.#upkeep = openRepeater((signal) => this.#keepSize(signal), { ...options, ...pause });
  }

  /** The copy of a tile; null if it is missing, or from another object. */
  async get(set: TileSetKey, z: number, tile: ShownTile): Promise<StoredTile | null> {
    const copy = await this.#read(set, z, tile.x, tile.y);
    return copy?.madeBy === tile.segment && copy.checksum === tile.checksum ? copy : null;
  }

  /** A copy to serve while the index is unreachable; null if it is missing or may be outdated. */
  async getWithoutIndex(set: TileSetKey, z: number, x: number, y: number): Promise<StoredTile | null> {
    // Read before the copy: one that replaces it in the meantime is newer.
    const [life, moment] = (await this.#validatorOf(set, z, x, y))?.split(' ') ?? [];
    if (life !== this.#processId || !this.#changes.isUntouched(set, z, x, y, Number(moment))) return null;
    const copy = await this.#read(set, z, x, y);
    return copy && { ...copy, madeBy: null };
  }

  /** A number that rises with each known change, for `keep`; to be read before the index is queried. */
  get moment(): number {
    return this.#changes.now;
  }

  /** Stores copies in the background; `madeBy` is the object's number, `validator` this process and the moment. */
  keep(set: TileSetKey, z: number, copies: readonly TileCopy[], moment: number): void {
    if (this.#waiting >= MAX_WAITING) return;
    this.#waiting++;
    const writes = copies.map(({ tile: { x, y, segment, making }, bytes }) => ({
      x,
      y,
      bytes,
      createdAt: making.createdAt,
      freshUntil: making.freshUntil,
      madeBy: segment,
      validator: `${this.#processId} ${moment}`,
    }));
    const { copies: store, log } = this.#options;
    this.#copying = this.#copying
      .then(() => store.marks(set.layer))
      .then((generation) => store.put(set, z, writes, generation))
      .catch((error: unknown) => log.debug({ err: error }, 'tiles could not be copied to the disk tier'))
      .finally(() => this.#waiting--);
  }

  /** Excludes changed tiles from being served while the index is unreachable. */
  forget(changes: readonly TileChange[]): void {
    for (const change of changes) this.#changes.note(change);
  }

  async close(): Promise<void> {
    await this.#upkeep.close();
    await this.#copying;
  }

  async #read(set: TileSetKey, z: number, x: number, y: number): Promise<StoredTile | null> {
    const copy = await Promise.resolve()
      .then(() => this.#options.copies.get(set, { z, x, y }))
      .catch(() => null);
    if (!copy) return null;
    this.#used.set(pageKey(set, z, x, y), { set, z, pageX: pageOf(x), pageY: pageOf(y) });
    return copy;
  }

  async #validatorOf(set: TileSetKey, z: number, x: number, y: number): Promise<string | null> {
    for await (const [tile] of this.#options.copies.list(set, z, rectOfTile({ x, y })))
      return tile?.validator ?? null;
    return null;
  }

  /** Stores the uses of pages, and removes the least recently used pages if the copies exceed their limit. */
  async #keepSize(signal: AbortSignal): Promise<void> {
    const { copies, size, clock } = this.#options;
    const used = [...this.#used.values()];
    this.#used.clear();
    for (const { set, z, pageX, pageY } of used) {
      const use = { pageX, pageY, hits: 1, usedAt: clock.now(), rank: NEVER_REQUESTED };
      await copies.edit(set, z, blockAt(pageX, pageY, PAGE_SIZE), { type: 'use', pages: [use] });
    }
    const { levels } = await copies.usage();
    const total = levels.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total > size) await this.#evict(total - size * SHARE_AFTER_EVICTION, signal);
  }

  async #evict(bytes: number, signal: AbortSignal): Promise<void> {
    const { copies } = this.#options;
    let left = bytes;
    for await (const { set, z, pageX, pageY } of pagesIn(copies, { first: 'LRU' })) {
      if (left <= 0) return;
      const rect = blockAt(pageX, pageY, PAGE_SIZE);
      left -= (await copies.edit(set, z, rect, { type: 'remove' }, signal)).bytes;
    }
  }
}

/** Limit of pages that are tracked singly; above it, all earlier copies are invalid. */
const MAX_PAGES = 50_000;

/** Known changes of tiles, by page and layer. A moment is a number that rises with each change. */
class KnownChanges {
  readonly #layers = new Map<string, number>();
  readonly #pages = new Map<string, number>();
  #everything = 0;
  #now = 0;

  get now(): number {
    return this.#now;
  }

  note(change: TileChange): void {
    this.#now++;
    if (change.kind === 'tiles') {
      const { minX, minY } = change.rect;
      this.#pages.set(pageKey(change.set, change.z, minX, minY), this.#now);
    }
    if (change.kind === 'layer' || change.kind === 'place') this.#layers.set(change.layer, this.#now);
    if (change.kind !== 'everything' && this.#pages.size <= MAX_PAGES) return;
    this.#everything = this.#now;
    this.#pages.clear();
    this.#layers.clear();
  }

  /** Whether no known change has touched a tile since that moment. */
  isUntouched(set: TileSetKey, z: number, x: number, y: number, since: number): boolean {
    const page = this.#pages.get(pageKey(set, z, x, y)) ?? 0;
    return Math.max(page, this.#layers.get(set.layer) ?? 0, this.#everything) <= since;
  }
}

/** Changes of tiles are reported by page. */
function pageKey(set: TileSetKey, z: number, x: number, y: number): string {
  return `${tileSetId(set)} ${z} ${pageOf(x)} ${pageOf(y)}`;
}
