import type { Clock } from '../lib/clock.ts';
import type { TileAnswer, TilePipeline } from '../pipeline/tile-pipeline.ts';

/** Hears how each tile was answered. Must not throw. */
export interface TileTally {
  /** `milliseconds` is how long it took; 0 for what was there at once. */
  answered(layer: string, answer: TileAnswer, milliseconds: number): void;
  failed(layer: string, error: unknown): void;
}

type Road = Pick<TilePipeline, 'read'>;

/** The same road; the tallies hear of everything that is read on it. */
export function countedRoad(road: Road, clock: Clock, tallies: readonly TileTally[]): Road {
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
