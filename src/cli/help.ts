import type { Command } from './command.ts';

export function generalHelp(commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }) => [name, summary] as const);
  return [
    'Tilewarden, a map-tile cache that is administered over HTTP',
    '',
    'Usage: tilewarden COMMAND [FLAGS]',
    '',
    ...table(rows),
    '',
    'tilewarden COMMAND --help tells about the flags of a command; tilewarden --version says which one this is.',
    '',
  ].join('\n');
}

export function commandHelp({ name, summary, operands, flags }: Command): string {
  const rows = flags.map(
    (flag) => [`--${flag.name} ${flag.placeholder ?? ''}`.trimEnd(), flag.help] as const,
  );
  const usage = operands ? [`Usage: tilewarden ${name} ${operands.usage} [FLAGS]`, ''] : [];
  return [`tilewarden ${name}: ${summary}`, '', ...usage, ...table(rows), ''].join('\n');
}

function table(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
