import { isTilewardenError } from '../domain/errors.ts';
import type { TileAnswer, TilePipeline } from '../pipeline/tile-pipeline.ts';
import { CallerGone } from './exchange.ts';

interface LayerCounts {
  HIT: number;
  MISS: number;
  STALE: number;
  BYPASS: number;
  /** By the failure's code. */
  readonly failures: Map<string, number>;
}

export interface TileCountSeries {
  readonly layer: string;
  readonly outcome: string;
  readonly count: number;
}

/** How tiles of each layer were answered. Only layers that exist come here, so there are no more series than that. */
export class TileCounts {
  readonly #layers = new Map<string, LayerCounts>();

  /** The same road; what is read on it is counted. */
  counting(pipeline: Pick<TilePipeline, 'read'>): Pick<TilePipeline, 'read'> {
    return {
      read: (tiles, tile, signal) => {
        const counts = this.#of(tiles.set.layer);
        const reading = pipeline.read(tiles, tile, signal);
        reading.then(
          ({ outcome }: TileAnswer) => counts[outcome]++,
          (error: unknown) => countFailure(counts, error),
        );
        return reading;
      },
    };
  }

  *series(): Generator<TileCountSeries> {
    for (const [layer, { HIT, MISS, STALE, BYPASS, failures }] of this.#layers) {
      yield { layer, outcome: 'hit', count: HIT };
      yield { layer, outcome: 'miss', count: MISS };
      yield { layer, outcome: 'stale', count: STALE };
      yield { layer, outcome: 'bypass', count: BYPASS };
      for (const [outcome, count] of failures) yield { layer, outcome, count };
    }
  }

  #of(layer: string): LayerCounts {
    const known = this.#layers.get(layer);
    if (known) return known;
    const counts = { HIT: 0, MISS: 0, STALE: 0, BYPASS: 0, failures: new Map<string, number>() };
    this.#layers.set(layer, counts);
    return counts;
  }
}

function countFailure({ failures }: LayerCounts, error: unknown): void {
  const code = codeOf(error);
  failures.set(code, (failures.get(code) ?? 0) + 1);
}

function codeOf(error: unknown): string {
  if (error instanceof CallerGone) return 'caller-gone';
  return isTilewardenError(error) ? error.code : 'unexpected';
}
