import type { TrackedTable } from './tracked-table.ts';

/** Dimensions that reach the source, as parameters of the layer; or why they cannot be kept. */
export function dimensionsOf(
  layer: TrackedTable,
  forwarded: readonly string[],
): readonly { readonly name: string }[] | string {
  const dimensions = layer.table('dimensions');
  const parameters: {
    readonly name: string;
    readonly values: readonly string[];
    readonly default: string | undefined;
  }[] = [];
  for (const key of dimensions.keys()) {
    const name = key.toUpperCase();
    const dimension = dimensions.table(key);
    const given = dimension.texts('values');
    if (!forwarded.includes(name)) {
      dimensions.leaveOut(key, 'does not reach the source: it is not in forward_req_params');
      continue;
    }
    const [only = ''] = given;
    if (given.length === 1 && name.includes('TIME') && only.includes('/'))
      return `its dimension ${key} is an interval: list the values instead`;
    const values = given.length === 1 ? only.trim().split('/') : given;
    parameters.push({ name, values, default: dimension.text('default') ?? values.at(-1) });
  }
  return parameters;
}
