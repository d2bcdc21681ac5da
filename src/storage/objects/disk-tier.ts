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
  /** The copies. Closed by the caller. */
  readonly copies: Store;
  /** Bytes. */
  readonly size: number;
}

/** A tile of the index with its place. `making` is as readers see it: see `OpenMark`. */
export interface ShownTile extends IndexedTile {
  readonly x: number;
  readonly y: number;
}

/** A tile with its bytes. */
interface TileCopy {
  readonly tile: ShownTile;
  readonly bytes: Buffer;
}

/** Milliseconds. */
const UPKEEP_INTERVAL = 5000;
/** The share of the size that remains after an eviction. */
const LEFT = 0.9;
/** Limit of packs that wait to be copied; further ones are dropped. */
const MAX_WAITING = 64;

/**
 * Copies of packed tiles on this machine's disk. Each is stored with the object it came from: a copy counts only if the
 * index names the same object, so it is never older than the store. While the index is unreachable, only copies count
 * that were made since this process began and that no change has touched.
 */
export class DiskTier {
  readonly #options: DiskTierOptions;
  /** Pages that were read since they were last reported to the copies. */
  readonly #used = new Map<string, Pick<PageUsage, 'set' | 'z' | 'pageX' | 'pageY'>>();
  readonly #voids = new CopyVoids();
  readonly #upkeep: Repeater;
  /** Distinguishes the copies of this process from those of earlier ones. */
  readonly #life = randomBytes(6).toString('hex');
  #waiting = 0;
  #copying: Promise<unknown> = Promise.resolve();

  constructor(options: DiskTierOptions) {
    this.#options = options;
    const failure = 'could not evict copies from the disk tier';
    const pause = { pause: UPKEEP_INTERVAL, failure };
    this.#upkeep = openRepeater((signal) => this.#keepSize(signal), { ...options, ...pause });
  }

  /** Null: missing, or from another object. */
  async get(set: TileSetKey, z: number, tile: ShownTile): Promise<StoredTile | null> {
    const copy = await this.#read(set, z, tile.x, tile.y);
    return copy?.madeBy === tile.segment && copy.checksum === tile.checksum ? copy : null;
  }

  /** A copy to serve while the index is unreachable; null: missing, or maybe outdated. */
  async getUnasked(set: TileSetKey, z: number, x: number, y: number): Promise<StoredTile | null> {
    // Before the copy: a copy that replaces it in the meantime is newer.
    const [life, moment] = (await this.#validatorOf(set, z, x, y))?.split(' ') ?? [];
    if (life !== this.#life || !this.#voids.isUntouched(set, z, x, y, Number(moment))) return null;
    const copy = await this.#read(set, z, x, y);
    return copy && { ...copy, madeBy: null };
  }

  /** The state of known changes, for `keep`. Read it before the index is queried. */
  get moment(): number {
    return this.#voids.now;
  }

  /** Stores copies in the background: `madeBy` is the object's number, `validator` this process and the moment. */
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
      validator: `${this.#life} ${moment}`,
    }));
    const { copies: store, log } = this.#options;
    this.#copying = this.#copying
      .then(() => store.marks(set.layer))
      .then((generation) => store.put(set, z, writes, generation))
      .catch((error: unknown) => log.debug({ err: error }, 'tiles could not be copied to the disk tier'))
      .finally(() => this.#waiting--);
  }

  /** Changed tiles are no longer served from copies while the index is unreachable. */
  forget(changes: readonly TileChange[]): void {
    for (const change of changes) this.#voids.note(change);
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

  /** Removes whole pages, the least recently used first. */
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
    if (total > size) await this.#evict(total - size * LEFT, signal);
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

/** Limit of pages that are tracked one by one; above it, all earlier copies are invalid. */
const MAX_PAGES = 50_000;

/** Changes made elsewhere since copies were stored. Moments are numbers that rise with each change. */
class CopyVoids {
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

/** Changes of tiles are of whole pages. */
function pageKey(set: TileSetKey, z: number, x: number, y: number): string {
  return `${tileSetId(set)} ${z} ${pageOf(x)} ${pageOf(y)}`;
}
