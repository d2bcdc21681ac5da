import type { TileRect } from '../../src/domain/tile-rect.ts';
import type { TileWrite } from '../../src/storage/tile-store.ts';

/** One way of keeping the tiles of one zoom of one layer, as the measurement uses it. */
export interface Contender {
  readonly name: string;
  readonly root: string;
  write(tiles: readonly TileWrite[]): Promise<void>;
  /** Length of the tile's bytes; fails when it is not there. */
  read(x: number, y: number): Promise<number>;
  deleteRange(rect: TileRect): Promise<void>;
  /** Returns when no reader sees a tile any more. */
  drop(): Promise<void>;
  /** Returns when the space of what was dropped is free. */
  freed(): Promise<void>;
  close(): Promise<void>;
}
