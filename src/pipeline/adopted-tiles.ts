import { crc32 } from 'node:zlib';
import { isTilewardenError } from '../domain/errors.ts';
import { isMixed } from '../domain/format.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import { type TileIndex, tileSetId } from '../domain/tile-key.ts';
import { rectAround, rectOfTile } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { recogniseImage } from '../raster/check-structure.ts';
import { decodeSamples } from '../raster/decode-image.ts';
import type { StoredTile } from '../storage/store.ts';
import { acceptVectorTile } from './accept-answer.ts';
import { isFresh } from './freshness.ts';
import type { RateLimitedWarning } from './rate-limited-warning.ts';
import type { ResolvedTileSet } from './tile-pipeline.ts';

interface AdoptedTilesOptions {
  readonly clock: Clock;
  readonly events: TileEvents;
  readonly counters: Pick<Counters, 'count'>;
  readonly warn: RateLimitedWarning;
}

type Copy = TileIndex & StoredTile;

interface Batch {
  readonly tiles: ResolvedTileSet;
  /** By place, so that a tile is stored once for several requests. */
  readonly copies: Map<string, Copy>;
}

/** The generation of a place that was never truncated. Truncated places are not looked up in adopted caches. */
const NEVER_TRUNCATED = 0;
/** Milliseconds for which served tiles are collected before they are stored together. */
const COPY_DELAY_MS = 200;
/** Bytes that wait to be stored. Beyond, tiles are served without being stored until they are requested again. */
const MAX_WAITING_BYTES = 16 * 1024 ** 2;
/** Pixels of a tile over those of the grid set: caches of other programs may have tiles of double density. */
const MAX_SIZE_FACTOR = 4;

/**
 * Reads the caches of other programs (`TileSource.oldCache`). Adopted tiles count as older than all others: places that
 * were truncated are not looked up, and tiles are stored under the first ticket, before they enter memory.
 */
export class AdoptedTiles {
  readonly #options: AdoptedTilesOptions;
  readonly #waiting = new Map<string, Batch>();
  readonly #stopping = new AbortController();
  #waitingBytes = 0;
  #storing: Promise<void> | null = null;

  constructor(options: AdoptedTilesOptions) {
    this.#options = options;
  }

  /** For a client's request; null if there is no tile that may be served. */
  async find(tiles: ResolvedTileSet, tile: TileIndex): Promise<StoredTile | null> {
    if (!tiles.bound.source().oldCache) return null;
    // The failure of the store was reported when the tile was looked up.
    if (!(await this.#isNeverTruncated(tiles, tile).catch(() => false))) return null;
    const found = await this.#read(tiles, tile);
    if (found && this.#isFresh(tiles, found)) this.#copyLater(tiles, found);
    return found;
  }

  /** For a task: stores existing fresh tiles and returns them. Throws the store's errors. */
  async copy(
    tiles: ResolvedTileSet,
    missing: readonly TileIndex[],
    latestGeneration: number,
  ): Promise<readonly Copy[]> {
    const find = async (tile: TileIndex) => {
      const isUntouched = latestGeneration === NEVER_TRUNCATED || (await this.#isNeverTruncated(tiles, tile));
      return isUntouched ? this.#read(tiles, tile) : null;
    };
    const found = await Promise.all(missing.map(find));
    const copies = found.filter((copy): copy is Copy => copy !== null && this.#isFresh(tiles, copy));
    await this.#store(tiles, copies);
    return copies;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#storing;
  }

  async #isNeverTruncated({ bound, set }: ResolvedTileSet, tile: TileIndex): Promise<boolean> {
    const place = { gridSet: set.gridSet, z: tile.z, rect: rectOfTile(tile) };
    return (await bound.store.marks(set.layer, place)) === NEVER_TRUNCATED;
  }

  async #read(tiles: ResolvedTileSet, tile: TileIndex): Promise<Copy | null> {
    const { bound, set, subset, format, selection } = tiles;
    const parameters = set.parametersId === null ? null : selection.values;
    try {
      const { oldCache } = bound.source();
      const found = await oldCache?.read({
        gridSet: subset.gridSet,
        format,
        parameters,
        values: selection.values,
        tile,
      });
      if (!found || !(await isTile(found.bytes, tiles))) return null;
      const { bytes, changedAt } = found;
      const createdAt = Math.floor(Math.min(changedAt, this.#options.clock.now()));
      this.#options.counters.count('tiles_adopted_total', { layer: set.layer });
      const { z, x, y } = tile;
      return { z, x, y, bytes, createdAt, checksum: crc32(bytes), freshUntil: null, madeBy: null };
    } catch (error) {
      this.#options.warn(
        error,
        `the adopted cache of layer ${set.layer} cannot be read; tiles are fetched from its source`,
      );
      return null;
    }
  }

  #isFresh(tiles: ResolvedTileSet, tile: Copy): boolean {
    return isFresh(tiles, tile.z, tile, this.#options.clock.now());
  }

  #copyLater(tiles: ResolvedTileSet, copy: Copy): void {
    if (this.#waitingBytes > MAX_WAITING_BYTES || this.#stopping.signal.aborted) return;
    const key = `${copy.z} ${tileSetId(tiles.set)}`;
    const batch = getOrCreate(this.#waiting, key, () => ({ tiles, copies: new Map() }));
    batch.copies.set(`${copy.x}/${copy.y}`, copy);
    this.#waitingBytes += copy.bytes.length;
    this.#storing ??= this.#storeWaiting().finally(() => {
      this.#storing = null;
    });
  }

  async #storeWaiting(): Promise<void> {
    while (this.#waiting.size > 0) {
      await this.#options.clock.sleep(COPY_DELAY_MS, this.#stopping.signal).catch(() => {});
      const batches = [...this.#waiting.values()];
      this.#waiting.clear();
      this.#waitingBytes = 0;
      for (const { tiles, copies } of batches) {
        await this.#store(tiles, [...copies.values()]).catch((error: unknown) => this.#notStored(error));
      }
    }
  }

  /** Stores tiles of one zoom. Throws `generation-stale` after a truncation. */
  async #store({ bound, set, selection }: ResolvedTileSet, copies: readonly Copy[]): Promise<void> {
    const rect = rectAround(copies);
    const [first] = copies;
    if (!rect || !first) return;
    const { z } = first;
    const change = await bound.store.put(set, z, copies, NEVER_TRUNCATED);
    const at = this.#options.clock.now();
    this.#options.events.emit({ type: 'stored', set, parameters: selection.values, z, rect, ...change, at });
  }

  #notStored(error: unknown): void {
    if (isTilewardenError(error, 'generation-stale')) return;
    this.#options.warn(error, 'adopted tiles could not be stored; they are served from where they are');
  }
}

/** The gate for files of other programs: complete, of the layer's format, and every pixel can be decoded. */
async function isTile(bytes: Buffer, { format, subset: { gridSet } }: ResolvedTileSet): Promise<boolean> {
  try {
    if (format.kind === 'opaque') return (await acceptVectorTile(bytes, null)) === bytes;
    const mediaType = recogniseImage(bytes);
    const kinds = isMixed(format.mediaType) ? ['image/jpeg', 'image/png'] : [format.contentType];
    if (mediaType === null || !kinds.includes(mediaType)) return false;
    await decodeSamples(bytes, { maxPixels: MAX_SIZE_FACTOR * gridSet.tileWidth * gridSet.tileHeight });
    return true;
  } catch {
    return false;
  }
}
