import type { GridSet } from '../domain/grid-set.ts';
import { everySubset, type Layer } from '../domain/layer.ts';
import { selectParameters } from '../domain/parameter-filter.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { ParameterValues } from './parameter-book.ts';

/** What becomes of cached tiles: they are right as they are, wrong and removed, or cannot be asked for any more. */
export type Fate = 'kept' | 'truncated' | 'orphaned';

export interface LayerChange {
  readonly before: Layer;
  readonly after: Layer;
  /** Whether both keep their tiles in the same store. */
  readonly sameStore: boolean;
  /** By parameters id. */
  readonly values: ReadonlyMap<string, ParameterValues>;
}

export function fateOf(set: TileSetKey, { before, after, sameStore, values }: LayerChange): Fate {
  const subset = everySubset(after).find(({ gridSet }) => gridSet.name === set.gridSet);
  const offered = after.formats.some(({ mediaType }) => mediaType === set.format);
  if (!sameStore || !subset || !offered) return 'orphaned';
  if (set.parametersId === null) return sameDefaults(before, after) ? 'kept' : 'truncated';
  const noted = values.get(set.parametersId);
  return noted && idOf(after, noted) !== set.parametersId ? 'orphaned' : 'kept';
}

/** Whether tiles of the one are tiles of the other. */
export function sameGrid(one: GridSet, other: GridSet): boolean {
  return gridOf(one) === gridOf(other);
}

function gridOf({ srs, extent, tileWidth, tileHeight, levels }: GridSet): string {
  const ladder = levels.map(({ resolution, columns, rows, top }) => [resolution, columns, rows, top]);
  return JSON.stringify([srs, extent, tileWidth, tileHeight, ladder]);
}

/** Tiles without a parameters id show what all defaults stand for. */
function sameDefaults(before: Layer, after: Layer): boolean {
  return defaultsOf(before) === defaultsOf(after);
}

function defaultsOf({ parameters }: Layer): string {
  const given = parameters.filter(({ defaultValue }) => defaultValue !== '');
  return JSON.stringify(given.map(({ name, defaultValue }) => [name.toUpperCase(), defaultValue]).sort());
}

function idOf(layer: Layer, values: ParameterValues): string | null {
  try {
    return selectParameters(layer.parameters, values).id;
  } catch {
    return null;
  }
}
