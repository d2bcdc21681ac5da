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

/** Command line options with the types of their defaults; commas separate the items of a list. Wrong ones end the process. */
export function readOptions<Defaults extends Readonly<Record<string, Default>>>(
  defaults: Defaults,
): Values<Defaults> {
  const entries = Object.entries(defaults);
  const options = Object.fromEntries(entries.map(([name]) => [name, { type: 'string' as const }]));
  try {
    const { values } = parseArgs({ options });
    return Object.fromEntries(
      entries.map(([name, initial]) => [name, parse(values[name] as string | undefined, initial)]),
    ) as Values<Defaults>;
  } catch (error) {
    const known = entries.map(([name, initial]) => `--${name} ${initial}`);
    process.stderr.write(
      `${(error as Error).message}\nThe options and their defaults: ${known.join(', ')}\n`,
    );
    process.exit(1);
  }
}

function parse(text: string | undefined, initial: Default): unknown {
  if (text === undefined) return initial;
  if (typeof initial === 'object') return text.split(',').map((item) => parse(item, initial[0] ?? ''));
  if (typeof initial === 'number' && !(Number(text) >= 0))
    throw new Error(`${text} is not a number from 0 up.`);
  return typeof initial === 'number' ? Number(text) : text;
}
