import type { Format } from './format.ts';
import type { GridSubset } from './grid-subset.ts';
import type { MetatileSize } from './metatile.ts';
import type { ParameterFilter } from './parameter-filter.ts';

/** What an administrator declares and a client asks for. */
export interface Layer {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The first is the default. */
  readonly formats: readonly [Format, ...Format[]];
  /** The first is the default. */
  readonly gridSubsets: readonly [GridSubset, ...GridSubset[]];
  readonly metatile: MetatileSize;
  /** Pixels fetched around a metatile and cut away, so that labels and symbols at its edge come out whole. */
  readonly gutter: number;
  readonly parameters: readonly ParameterFilter[];
  /** Seconds a tile stays fresh; null: for ever. */
  readonly expireCacheSeconds: number | null;
  /** Seconds a client may keep a tile. 0: say nothing. */
  readonly expireClientsSeconds: number;
}
