import type { TrackedTable } from './tracked-table.ts';

/** Dimensions that reach the source, as parameters of the layer; or why they cannot be kept. */
export function dimensionsOf(
  layer: TrackedTable,
  forwarded: readonly string[],
): readonly { readonly name: string }[] | string {
  const dimensions = layer.table('dimensions');
  const parameters: {
    readonly name: string;
    readonly type?: 'time';
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
    if (name.includes('TIME') && given.some((value) => value.includes('/'))) {
      parameters.push({ name, type: 'time', values: given, default: dimension.text('default') ?? 'latest' });
      continue;
    }
    const values = given.length === 1 ? only.trim().split('/') : given;
    parameters.push({ name, values, default: dimension.text('default') ?? values.at(-1) });
  }
  return parameters;
}
