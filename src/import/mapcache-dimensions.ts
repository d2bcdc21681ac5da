import { numberOf, TEXT, type TrackedTable } from './tracked-table.ts';

const MAX_VALUES = 1000;

/** Dimensions of a tileset as parameters of the layer, which its source gets too; or why they cannot be kept. */
export function mapCacheDimensions(tileset: TrackedTable): readonly object[] | string {
  const parameters: object[] = [];
  for (const dimension of tileset.table('dimensions').tables('dimension')) {
    const name = (dimension.text('@name') ?? '').toUpperCase();
    const type = dimension.text('@type') ?? '';
    const allowed = ALLOWED[type]?.(dimension);
    if (!allowed) return `its dimension ${name} is of type ${type}, or has values that cannot be listed`;
    parameters.push({ name, ...allowed, default: dimension.text('@default') ?? '' });
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
    return regex === undefined ? undefined : { regex };
  },
  intervals(dimension) {
    const intervals = (dimension.text(TEXT) ?? '').split(',').map(valuesOf);
    const values = intervals.flatMap((some) => some ?? []);
    return intervals.includes(undefined) || values.length > MAX_VALUES ? undefined : { values };
  },
};

/** Of `min/max/step`; undefined where anything between is allowed. */
function valuesOf(interval: string): readonly string[] | undefined {
  const [min, max, step] = interval.split('/').map(numberOf);
  if (min === undefined || max === undefined || !step || step < 0) return undefined;
  const count = Math.floor((max - min) / step) + 1;
  if (!(count > 0 && count <= MAX_VALUES)) return undefined;
  return Array.from({ length: count }, (_, i) => String(min + i * step));
}
