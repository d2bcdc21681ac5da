import { isTilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { TileAnswer, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { CallerGone } from '../exchange.ts';

/** Hears how each tile was answered. Must not throw. */
export interface TileTally {
  /** `milliseconds` is how long it took; 0 for what was there at once. */
  answered(layer: string, answer: TileAnswer, milliseconds: number): void;
  failed(layer: string, error: unknown): void;
}

type Road = Pick<TilePipeline, 'read'>;

/** The same road; the tallies hear of everything that is read on it. */
export function countReads(road: Road, clock: Clock, tallies: readonly TileTally[]): Road {
  const answered: TileTally['answered'] = (layer, answer, milliseconds) => {
    for (const tally of tallies) tally.answered(layer, answer, milliseconds);
  };

  function countLater(layer: string, reading: Promise<TileAnswer>, asked: number): void {
    reading.then(
      (answer) => answered(layer, answer, clock.monotonic() - asked),
      (error: unknown) => {
        for (const tally of tallies) tally.failed(layer, error);
      },
    );
  }

  return {
    read(tiles, tile, signal) {
      const asked = clock.monotonic();
      const reading = road.read(tiles, tile, signal);
      const { layer } = tiles.set;
      if (reading instanceof Promise) {
        countLater(layer, reading, asked);
        return reading;
      }
      answered(layer, reading, 0);
      return reading;
    },
  };
}

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
export class TileCounts implements TileTally {
  readonly #layers = new Map<string, LayerCounts>();

  answered(layer: string, { outcome }: TileAnswer): void {
    this.#of(layer)[outcome]++;
  }

  failed(layer: string, error: unknown): void {
    const { failures } = this.#of(layer);
    const code = codeOf(error);
    failures.set(code, (failures.get(code) ?? 0) + 1);
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

function codeOf(error: unknown): string {
  if (error instanceof CallerGone) return 'caller-gone';
  return isTilewardenError(error) ? error.code : 'unexpected';
}
