import { isTilewardenError } from '../domain/errors.ts';
import { everySubset, type Layer } from '../domain/layer.ts';
import { parametersIdOf, selectParameters } from '../domain/parameter-filter.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { ParameterValues as Values } from './parameter-store.ts';

/** Combinations examined at most; a layer that has more is treated as one whose combinations cannot be listed. */
const MAX_COMBINATIONS = 20_000;

/** Parameter values by parameters id, for every combination but the default; null when they cannot be listed. */
function combinationsOf(layer: Layer): ReadonlyMap<string, Values> | null {
  const choices = layer.parameters.map(({ name, values, defaultValue }) =>
    values ? { name, values: [...new Set([defaultValue, ...values])] } : null,
  );
  if (!choices.every((choice) => choice !== null)) return null;
  const total = choices.reduce((product, { values }) => product * values.length, 1);
  if (total > MAX_COMBINATIONS) return null;
  let combinations: Values[] = [new Map()];
  for (const { name, values } of choices) {
    combinations = combinations.flatMap((one) => values.map((value) => new Map([...one, [name, value]])));
  }
  return new Map(combinations.map((values) => [parametersIdOf(values), values]));
}

/** Combinations that the layer can make, by parameters id: all that can be listed, and recorded ones it accepts. */
export function partitionsOf(layer: Layer, recorded: ReadonlyMap<string, Values>) {
  const listed = combinationsOf(layer);
  const accepted = [...recorded].filter(([id, values]) => idOf(layer, values) === id);
  const named = new Map([...(listed ?? []), ...accepted]);
  return {
    named,
    /** Whether the layer offers such tiles; true in doubt. */
    couldBeMade({ gridSet, format, parametersId: id }: TileSetKey): boolean {
      if (!everySubset(layer).some((subset) => subset.gridSet.name === gridSet)) return false;
      if (!layer.formats.some(({ mediaType }) => mediaType === format)) return false;
      return id === null || named.has(id) || (listed === null && !recorded.has(id));
    },
  };
}

/** Null for values that the layer refuses, or takes for its defaults; not for times while its list is not known. */
function idOf(layer: Layer, values: Values): string | null {
  const known = [...values.keys()].every((name) => layer.parameters.some((filter) => filter.name === name));
  if (!known) return null;
  try {
    return selectParameters(layer.parameters, values).id;
  } catch (error) {
    return isTilewardenError(error, 'source-unavailable') ? parametersIdOf(values) : null;
  }
}

/** Names in any case, values as they are. */
export function sameValues(a: Values, b: Values): boolean {
  const upper = new Map([...b].map(([name, value]) => [name.toUpperCase(), value]));
  return a.size === upper.size && [...a].every(([name, value]) => upper.get(name.toUpperCase()) === value);
}
