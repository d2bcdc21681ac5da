import { isTilewardenError } from '../domain/errors.ts';
import { createParameterFilter } from '../domain/parameter-filter.ts';
import { numberOf, TEXT, type TrackedTable } from './tracked-table.ts';

const MAX_VALUES = 1000;

/**
 * Dimensions of a tileset as parameters of the layer, which are passed to its source; or why they cannot be imported. If
 * values cannot be listed here only the default is allowed: any value would fill the cache.
 */
export function mapCacheDimensions(tileset: TrackedTable): readonly object[] | string {
  const parameters: object[] = [];
  const dimensions = tileset.table('dimensions');
  for (const dimension of dimensions.tables('dimension')) {
    const name = (dimension.text('@name') ?? '').toUpperCase();
    const type = dimension.text('@type') ?? '';
    const usual = dimension.text('@default') ?? '';
    const allowed = ALLOWED[type]?.(dimension);
    if (!allowed && usual === '')
      return `its dimension ${name} has values that cannot be listed, and no default`;
    if (!allowed) {
      const only = `only the default ${usual} is served: write the others into values`;
      dimensions.change(
        'dimension',
        `the values of ${name}, of type ${type}, cannot be listed here: ${only}`,
      );
    }
    parameters.push({ name, ...(allowed ?? { values: [usual] }), default: usual });
  }
  return parameters;
}

type Allowed = { readonly values: readonly string[] } | { readonly regex: string };

const ALLOWED: Readonly<Record<string, (dimension: TrackedTable) => Allowed | undefined>> = {
  values(dimension) {
    const plain = dimension.text(TEXT);
    return { values: plain === undefined ? dimension.texts('value') : plain.split(',') };
  },
  regex(dimension) {
    const regex = dimension.text('regex') ?? dimension.text(TEXT);
    return regex === undefined || !isKnownRegex(regex) ? undefined : { regex };
  },
  intervals(dimension) {
    const intervals = (dimension.text(TEXT) ?? '').split(',').map(valuesOf);
    const values = intervals.flatMap((some) => some ?? []);
    return intervals.includes(undefined) || values.length > MAX_VALUES ? undefined : { values };
  },
};

/** RE2 lacks the parts of PCRE whose time is not proportional to the text. */
function isKnownRegex(regex: string): boolean {
  try {
    return createParameterFilter({ name: 'ANY', regex }) !== null;
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    return false;
  }
}

/** The values of `min/max/step`; undefined if anything between is allowed. */
function valuesOf(interval: string): readonly string[] | undefined {
  const [min, max, step] = interval.split('/').map(numberOf);
  if (min === undefined || max === undefined || !step || step < 0) return undefined;
  const count = Math.floor((max - min) / step) + 1;
  if (!(count > 0 && count <= MAX_VALUES)) return undefined;
  return Array.from({ length: count }, (_, i) => String(min + i * step));
}
