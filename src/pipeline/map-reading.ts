import { decodeImage } from '../raster/decode-image.ts';
import type { RasterImage } from '../raster/raster-image.ts';
import type { ResamplePlan } from '../raster/resample-image.ts';
import type { MapPlan } from './map-plan.ts';
import type { CacheOutcome, ResolvedTileSet, TilePipeline } from './tile-pipeline.ts';

/** What a map was made from. Everything is null when no tile lies there. */
export interface MapOrigin {
  /** When the newest of its tiles was made. */
  readonly createdAt: number | null;
  readonly outcome: CacheOutcome | null;
  /** The deepest that tiles were taken from. */
  readonly zoom: number | null;
}

/** Worse ones first: a map is as its worst tile. */
const OUTCOMES: readonly CacheOutcome[] = ['STALE', 'BYPASS', 'MISS', 'HIT'];
const READS_AT_ONCE = 16;
const BYTES_PER_PIXEL = 4;

/** Reads the tiles of one map, a row of tiles at a time, and keeps account of them. */
export class MapReading {
  readonly #pipeline: Pick<TilePipeline, 'read'>;
  readonly #signal: AbortSignal;
  readonly #outcomes = new Set<CacheOutcome>();
  #newest: number | null = null;
  #deepest: number | null = null;

  constructor(pipeline: Pick<TilePipeline, 'read'>, signal: AbortSignal) {
    this.#pipeline = pipeline;
    this.#signal = signal;
  }

  /** The pixels of the tiles that the plan names, in the order in which resampling wants them. */
  follow(tiles: ResolvedTileSet, plan: MapPlan): ResamplePlan {
    const { tileHeight } = tiles.subset.gridSet;
    let strip: { readonly row: number; readonly image: RasterImage } | null = null;
    return {
      across: plan.across,
      down: plan.down,
      sourceRow: async (pixelRow) => {
        const row = plan.rect.minY + Math.floor(pixelRow / tileHeight);
        if (strip?.row !== row) strip = { row, image: await this.#readStrip(tiles, plan, row) };
        const { width, pixels } = strip.image;
        const start = (pixelRow % tileHeight) * width * BYTES_PER_PIXEL;
        return pixels.subarray(start, start + width * BYTES_PER_PIXEL);
      },
    };
  }

  summary(): MapOrigin {
    return {
      zoom: this.#deepest,
      createdAt: this.#newest,
      outcome: OUTCOMES.find((outcome) => this.#outcomes.has(outcome)) ?? null,
    };
  }

  async #readStrip(tiles: ResolvedTileSet, { z, rect }: MapPlan, y: number): Promise<RasterImage> {
    const { tileWidth, tileHeight } = tiles.subset.gridSet;
    const width = (rect.maxX - rect.minX + 1) * tileWidth;
    const pixels = Buffer.alloc(width * tileHeight * BYTES_PER_PIXEL);
    const strip = { width, height: tileHeight, pixels };
    let next = rect.minX;
    const readOn = async () => {
      while (next <= rect.maxX) {
        this.#signal.throwIfAborted();
        const x = next++;
        const tile = await this.#readTile(tiles, z, x, y);
        putTile(strip, tile, (x - rect.minX) * tileWidth);
      }
    };
    await Promise.all(Array.from({ length: READS_AT_ONCE }, readOn));
    return strip;
  }

  async #readTile(tiles: ResolvedTileSet, z: number, x: number, y: number): Promise<RasterImage> {
    const { tileWidth, tileHeight } = tiles.subset.gridSet;
    const { bytes, createdAt, outcome } = await this.#pipeline.read(tiles, { z, x, y }, this.#signal);
    this.#outcomes.add(outcome);
    this.#deepest = Math.max(this.#deepest ?? z, z);
    this.#newest = Math.max(this.#newest ?? createdAt, createdAt);
    const size = { width: tileWidth, height: tileHeight };
    return await decodeImage(bytes, { maxPixels: tileWidth * tileHeight, size });
  }
}

function putTile(strip: RasterImage, tile: RasterImage, left: number): void {
  const length = tile.width * BYTES_PER_PIXEL;
  for (let row = 0; row < tile.height; row++) {
    tile.pixels.copy(
      strip.pixels,
      (row * strip.width + left) * BYTES_PER_PIXEL,
      row * length,
      row * length + length,
    );
  }
}
