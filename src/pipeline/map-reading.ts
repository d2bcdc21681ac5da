import { setMaxListeners } from 'node:events';
import type { TileIndex } from '../domain/tile-key.ts';
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
    // Each read listens, and whoever made the signal may listen too.
    setMaxListeners(2 * READS_AT_ONCE, signal);
  }

  summary(): MapOrigin {
    return {
      zoom: this.#deepest,
      createdAt: this.#newest,
      outcome: OUTCOMES.find((outcome) => this.#outcomes.has(outcome)) ?? null,
    };
  }

  /** From the left; `row` counts from the top of the plan. */
  async readRow(
    tiles: ResolvedTileSet,
    { z, rect }: Pick<MapPlan, 'z' | 'rect'>,
    row: number,
  ): Promise<readonly Buffer[]> {
    const y = rect.minY + row;
    const bytes: Buffer[] = [];
    let next = rect.minX;
    const readOn = async () => {
      while (next <= rect.maxX) {
        this.#signal.throwIfAborted();
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
    return bytes;
  }

  async #readTile(tiles: ResolvedTileSet, tile: TileIndex): Promise<Buffer> {
    const { bytes, createdAt, outcome } = await this.#pipeline.read(tiles, tile, this.#signal);
    this.#outcomes.add(outcome);
    this.#deepest = Math.max(this.#deepest ?? tile.z, tile.z);
    this.#newest = Math.max(this.#newest ?? createdAt, createdAt);
    return bytes;
  }
}
