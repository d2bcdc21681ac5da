import type { Layer } from '../domain/layer.ts';
import { parametersIdOf } from '../domain/parameter-filter.ts';

type Values = ReadonlyMap<string, string>;

/** Combinations looked through at most; a layer that has more is treated as one whose combinations cannot be listed. */
const MAX_COMBINATIONS = 20_000;

/** Parameter values by parameters id, for every combination but the default; null when they cannot be listed. */
export function combinationsOf(layer: Layer): ReadonlyMap<string, Values> | null {
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
