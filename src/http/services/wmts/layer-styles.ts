import type { Layer } from '../../../domain/layer.ts';
import type { ParameterFilter } from '../../../domain/parameter-filter.ts';

/** In WMTS a style has a name, also where the layer has none; and of a dimension it stands for the default value. */
export const DEFAULT = 'default';

const STYLES = 'STYLES';

/** The first is the default. */
export function stylesOf(layer: Layer): readonly [string, ...string[]] {
  const filter = layer.parameters.find(isStyleFilter);
  const first = filter?.defaultValue || DEFAULT;
  const others = (filter?.values ?? []).filter((value) => value !== first && value !== '');
  return [first, ...others];
}

export interface Dimension {
  readonly name: string;
  readonly defaultValue: string;
  readonly values: readonly string[];
}

/** Filters whose values can be listed: a dimension without values is none, OGC 07-057r7, table 9. */
export function dimensionsOf(layer: Layer): readonly Dimension[] {
  return layer.parameters
    .filter((filter) => !isStyleFilter(filter))
    .map(({ name, defaultValue, values }) => ({ name, defaultValue, values: values ?? [] }))
    .filter(({ values }) => values.length > 0);
}

export function isStyleFilter({ name }: ParameterFilter): boolean {
  return name === STYLES;
}
