import { parseArgs } from 'node:util';

type Default = string | number | readonly string[] | readonly number[];
type Value<D> = D extends readonly number[]
  ? readonly number[]
  : D extends readonly string[]
    ? readonly string[]
    : D extends number
      ? number
      : string;
type Values<Defaults> = { readonly [Name in keyof Defaults]: Value<Defaults[Name]> };

/** Command line options with the types of their defaults; commas separate the items of a list. */
export function readOptions<Defaults extends Readonly<Record<string, Default>>>(
  defaults: Defaults,
): Values<Defaults> {
  const entries = Object.entries(defaults);
  const options = Object.fromEntries(entries.map(([name]) => [name, { type: 'string' as const }]));
  const { values } = parseArgs({ options });
  return Object.fromEntries(
    entries.map(([name, initial]) => [name, parse(values[name] as string | undefined, initial)]),
  ) as Values<Defaults>;
}

function parse(text: string | undefined, initial: Default): unknown {
  if (text === undefined) return initial;
  if (typeof initial === 'object') return text.split(',').map((item) => parse(item, initial[0] ?? ''));
  return typeof initial === 'number' ? Number(text) : text;
}
