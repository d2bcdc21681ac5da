import { randomBytes } from 'node:crypto';
import { BLOCK_SIZE, pageOf, type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import { blockAt, rectOfTile, type TileRect } from '../../domain/tile-rect.ts';
import type { Env } from '../../lib/env.ts';
import { openRepeater, type Repeater } from '../../lib/repeat.ts';
import type { BlockContent, StoredTile, TileChange, TileStore } from '../tile-store.ts';
import type { PlacedTile } from './plan-pack-change.ts';

export interface DiskTierOptions extends Env {
  /** Keeps the copies, and nothing else. Closing it is the caller's business. */
  readonly copies: TileStore;
  /** Bytes. */
  readonly size: number;
}

/** A tile of the index with its bytes. */
export interface TileCopy {
  readonly tile: PlacedTile;
  readonly bytes: Buffer;
}

interface KnownBlock extends Pick<BlockContent, 'set' | 'z' | 'diskBytes'> {
  readonly rect: TileRect;
}

/** Milliseconds. */
const LOOK_INTERVAL = 5000;
/** The share of the size that remains after an eviction. */
const LEFT = 0.9;
/** Packs waiting to be copied; further ones are dropped. */
const MAX_WAITING = 64;

/**
 * Copies of packed tiles on this machine's disk. Each is kept with the object it came from: a copy counts only if the
 * index names the same object, so it is never older than what is stored. While the index is unreachable, only copies
 * count that were made since this process began and that no change has touched.
 */
export class DiskTier {
  readonly #options: DiskTierOptions;
  readonly #blocks = new Map<string, KnownBlock>();
  readonly #uses = new Map<string, number>();
  readonly #voids = new CopyVoids();
  readonly #looks: Repeater;
  /** Tells the copies of this process from those of earlier ones. */
  readonly #life = randomBytes(6).toString('hex');
  #cursor: number | null = null;
  #waiting = 0;
  #copying: Promise<unknown> = Promise.resolve();

  constructor(options: DiskTierOptions) {
    this.#options = options;
    const failure = 'the disk tier could not be looked at';
    this.#looks = openRepeater((signal) => this.#look(signal), { ...options, pause: LOOK_INTERVAL, failure });
  }

  /** Null: it is not there, or of another object. */
  async get(set: TileSetKey, z: number, tile: PlacedTile): Promise<StoredTile | null> {
    const copy = await this.#read(set, z, tile.x, tile.y);
    return copy?.madeBy === tile.object && copy.bytes.length === tile.length ? copy : null;
  }

  /** While the index is unreachable. */
  async getUnasked(set: TileSetKey, z: number, x: number, y: number): Promise<StoredTile | null> {
    // Before the copy: one that replaces it in the meantime is newer.
    const validator = await this.#options.copies.validatorOf(set, z, rectOfTile({ x, y }));
    const [life, moment] = validator?.split(' ') ?? [];
    if (life !== this.#life || !this.#voids.isUntouched(set, z, x, y, Number(moment))) return null;
    const copy = await this.#read(set, z, x, y);
    return copy && { ...copy, madeBy: null };
  }

  /** To be read before the index is queried. */
  get moment(): number {
    return this.#voids.now;
  }

  /** Behind the answer; a copy that could not be made is made the next time. */
  keep(set: TileSetKey, z: number, copies: readonly TileCopy[], moment: number): void {
    if (this.#waiting >= MAX_WAITING) return;
    this.#waiting++;
    const writes = copies.map(({ tile: { x, y, createdAt, freshUntil, object }, bytes }) => ({
      x,
      y,
      bytes,
      createdAt,
      freshUntil,
      madeBy: object,
      validator: `${this.#life} ${moment}`,
    }));
    const { copies: store, log } = this.#options;
    this.#copying = this.#copying
      .then(() => store.generation(set.layer))
      .then((generation) => store.putMany(set, z, writes, generation))
      .catch((error: unknown) => log.debug({ err: error }, 'tiles could not be copied to the disk tier'))
      .finally(() => this.#waiting--);
  }

  /** Changed tiles are no longer served from copies while the index is unreachable. */
  forget(changes: readonly TileChange[]): void {
    for (const change of changes) this.#voids.note(change);
  }

  async close(): Promise<void> {
    await this.#looks.close();
    await this.#copying;
  }

  async #read(set: TileSetKey, z: number, x: number, y: number): Promise<StoredTile | null> {
    const { copies, clock } = this.#options;
    const copy = copies.getNow?.(set, { z, x, y }) ?? (await copies.get(set, { z, x, y }).catch(() => null));
    if (copy) this.#uses.set(blockName(set, z, x, y), clock.now());
    return copy;
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { copies, size } = this.#options;
    const changes = await copies.blocks(this.#cursor);
    if (changes.complete) this.#blocks.clear();
    for await (const { id, content } of changes.blocks) {
      this.#blocks.delete(id);
      if (content) this.#blocks.set(id, { ...content, rect: blockAt(content.x, content.y, BLOCK_SIZE) });
    }
    this.#cursor = changes.complete && changes.cursor === 0 ? null : changes.cursor;
    const used = [...this.#blocks.values()].reduce((sum, { diskBytes }) => sum + diskBytes, 0);
    if (used > size) await this.#evict(used - size * LEFT, signal);
  }

  /** Whole blocks, the least recently used first. */
  async #evict(bytes: number, signal: AbortSignal): Promise<void> {
    const { copies } = this.#options;
    const usedAt = ({ set, z, rect }: KnownBlock) =>
      this.#uses.get(blockName(set, z, rect.minX, rect.minY)) ?? 0;
    let left = bytes;
    for (const [id, block] of [...this.#blocks].sort(([, a], [, b]) => usedAt(a) - usedAt(b))) {
      if (left <= 0) return;
      await copies.edit(block.set, block.z, block.rect, { type: 'remove' }, signal);
      this.#blocks.delete(id);
      this.#uses.delete(blockName(block.set, block.z, block.rect.minX, block.rect.minY));
      left -= block.diskBytes;
    }
  }
}

function blockName(set: TileSetKey, z: number, x: number, y: number): string {
  return `${tileSetId(set)} ${z} ${Math.floor(x / BLOCK_SIZE)} ${Math.floor(y / BLOCK_SIZE)}`;
}

/** Pages tracked change by change; if there are more, all copies made before are invalid. */
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

  /** Whether nothing is known to have changed a tile since that moment. */
  isUntouched(set: TileSetKey, z: number, x: number, y: number, since: number): boolean {
    const page = this.#pages.get(pageKey(set, z, x, y)) ?? 0;
    return Math.max(page, this.#layers.get(set.layer) ?? 0, this.#everything) <= since;
  }
}

/** News of tiles are of whole pages. */
function pageKey(set: TileSetKey, z: number, x: number, y: number): string {
  return `${tileSetId(set)} ${z} ${pageOf(x)} ${pageOf(y)}`;
}
