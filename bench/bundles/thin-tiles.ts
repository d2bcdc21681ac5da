import type { TileIndex } from '../../src/domain/tile-key.ts';
import { hash } from '../harness/tile-store.ts';

export interface Figure {
  readonly step: string;
  /** Microseconds of processor and of time, for each tile or hit; or just a number. */
  readonly processor: number;
  readonly wall: number | null;
}

export const ZOOM = 15;
export const PAGE = 16;

/** One tile in each page of a square of tiles, in random order. */
export function thinTiles(square: number): readonly TileIndex[] {
  const pages = Array.from({ length: (square / PAGE) ** 2 }, (_, page) => page);
  return pages
    .sort((a, b) => hash(a, 3) - hash(b, 3))
    .map((page) => ({
      z: ZOOM,
      x: (page % (square / PAGE)) * PAGE + (hash(page, 5) % PAGE),
      y: Math.floor(page / (square / PAGE)) * PAGE + (hash(page, 7) % PAGE),
    }));
}
