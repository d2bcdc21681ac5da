import { setMaxListeners } from 'node:events';
import type { TileIndex } from '../domain/tile-key.ts';
import type { Semaphore } from '../lib/semaphore.ts';
import { decodeStrip } from '../raster/decode-strip.ts';
import { emptyImage, placeImage } from '../raster/place-image.ts';
import type { RasterImage } from '../raster/raster-image.ts';
import { reachOf, resampleImage } from '../raster/resample-image.ts';
import { type MapPlan, sourceSize } from './map-plan.ts';
import type { CacheOutcome, ResolvedTileSet, TilePipeline } from './tile-pipeline.ts';

/** What a map was made from. Everything is null when no tile lies there. */
export interface MapOrigin {
  /** When the newest of its tiles was made. */
  readonly createdAt: number | null;
  readonly outcome: CacheOutcome | null;
  /** The deepest that tiles were taken from. */
  readonly zoom: number | null;
}

/** Rows of a map, all its width. */
export interface MapBand {
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface MapReadingOptions {
  readonly pipeline: Pick<TilePipeline, 'read'>;
  readonly decoding: Semaphore;
  readonly signal: AbortSignal;
}

/** Worse ones first: a map is as its worst tile. */
const OUTCOMES: readonly CacheOutcome[] = ['STALE', 'BYPASS', 'MISS', 'HIT'];
const READS_AT_ONCE = 16;
const BYTES_PER_PIXEL = 4;

/** Reads the tiles of one map, a row of tiles at a time, and keeps account of them. */
export class MapReading {
  readonly #options: MapReadingOptions;
  readonly #outcomes = new Set<CacheOutcome>();
  #newest: number | null = null;
  #deepest: number | null = null;

  constructor(options: MapReadingOptions) {
    this.#options = options;
    // Each read listens, and whoever made the signal may listen too.
    setMaxListeners(2 * READS_AT_ONCE, options.signal);
  }

  /** What a layer shows in one band after the other, from the top down; null where it shows nothing. */
  follow(tiles: ResolvedTileSet, plan: MapPlan): (band: MapBand) => Promise<RasterImage | null> {
    const strips = new Map<number, RasterImage>();
    const { across, down } = plan;
    return async (band) => {
      const first = Math.max(band.top, down.first);
      const end = Math.min(band.top + band.height, down.first + down.length);
      if (first >= end) return null;
      const origin = down.origin + (first - down.first) * down.scale;
      const axis = { origin, scale: down.scale, length: end - first };
      const part = await this.#resample(tiles, plan, axis, strips);
      if (part.width === band.width && part.height === band.height) return part;
      const whole = emptyImage(band.width, band.height);
      placeImage(whole, part, across.first, first - band.top);
      return whole;
    };
  }

  summary(): MapOrigin {
    return {
      zoom: this.#deepest,
      createdAt: this.#newest,
      outcome: OUTCOMES.find((outcome) => this.#outcomes.has(outcome)) ?? null,
    };
  }

  async #resample(
    tiles: ResolvedTileSet,
    plan: MapPlan,
    down: Pick<MapPlan['down'], 'origin' | 'scale' | 'length'>,
    strips: Map<number, RasterImage>,
  ): Promise<RasterImage> {
    const reach = reachOf(down.scale);
    const from = Math.floor(down.origin) - reach;
    const to = Math.ceil(down.origin + down.length * down.scale) + reach;
    const source = await this.#readRows(tiles, plan, { from, to }, strips);
    const { across } = plan;
    return await resampleImage(
      source,
      { ...across, origin: across.origin + reachOf(across.scale) },
      { ...down, origin: down.origin - from },
    );
  }

  /** Rows of pixels; those beyond the tiles are like the outermost ones, lest the rim be half transparent. */
  async #readRows(
    tiles: ResolvedTileSet,
    plan: MapPlan,
    { from, to }: { readonly from: number; readonly to: number },
    strips: Map<number, RasterImage>,
  ): Promise<RasterImage> {
    const { tileHeight } = tiles.subset.gridSet;
    const last = sourceSize(tiles.subset, plan.rect).height - 1;
    const within = (row: number) => Math.min(Math.max(row, 0), last);
    const stripOf = (row: number) => plan.rect.minY + Math.floor(within(row) / tileHeight);
    for (const known of strips.keys()) if (known < stripOf(from)) strips.delete(known);
    for (let y = stripOf(from); y <= stripOf(to - 1); y++) {
      if (!strips.has(y)) strips.set(y, await this.#readStrip(tiles, plan, y));
    }
    const rows: Buffer[] = [];
    let width = 0;
    for (let row = from; row < to; row++) {
      const strip = strips.get(stripOf(row));
      if (!strip) continue;
      ({ width } = strip);
      const start = (within(row) % tileHeight) * width * BYTES_PER_PIXEL;
      rows.push(strip.pixels.subarray(start, start + width * BYTES_PER_PIXEL));
    }
    return { width, height: rows.length, pixels: Buffer.concat(rows) };
  }

  /** A row of tiles, with as many pixels on either side as resampling looks at. */
  async #readStrip(tiles: ResolvedTileSet, { z, rect, across }: MapPlan, y: number): Promise<RasterImage> {
    const { tileWidth, tileHeight } = tiles.subset.gridSet;
    const { decoding, signal } = this.#options;
    const reach = reachOf(across.scale);
    const bytes: Buffer[] = [];
    let next = rect.minX;
    const readOn = async () => {
      while (next <= rect.maxX) {
        signal.throwIfAborted();
        const x = next++;
        bytes[x - rect.minX] = await this.#readTile(tiles, { z, x, y });
      }
    };
    const readers = Array.from({ length: READS_AT_ONCE }, readOn);
    await Promise.all(readers).catch((error: unknown) => {
      // The others are not to go on for a map that nobody gets.
      next = Number.POSITIVE_INFINITY;
      throw error;
    });
    const leave = await decoding.acquire(signal);
    try {
      return await decodeStrip(bytes, { width: tileWidth, height: tileHeight }, reach);
    } finally {
      leave();
    }
  }

  async #readTile(tiles: ResolvedTileSet, tile: TileIndex): Promise<Buffer> {
    const { pipeline, signal } = this.#options;
    const { bytes, createdAt, outcome } = await pipeline.read(tiles, tile, signal);
    this.#outcomes.add(outcome);
    this.#deepest = Math.max(this.#deepest ?? tile.z, tile.z);
    this.#newest = Math.max(this.#newest ?? createdAt, createdAt);
    return bytes;
  }
}
