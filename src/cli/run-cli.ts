import { SettingsError } from '../config/load-settings.ts';
import { readVersion } from '../config/version.ts';
import { type Command, CommandFailure, type Terminal } from './command.ts';
import { readArguments } from './read-arguments.ts';

const FAILED = 1;
const MISUSED = 2;

/** Resolves with the exit code. */
export async function runCli(
  args: readonly string[],
  commands: readonly Command[],
  terminal: Terminal,
): Promise<number> {
  const asked = readArguments(args, commands);
  if (asked.kind === 'version') {
    terminal.out(`${readVersion()}\n`);
    return 0;
  }
  const helpOf = (command: Command | null) => (command ? commandHelp(command) : generalHelp(commands));
  if (asked.kind === 'help') {
    terminal.out(helpOf(asked.command));
    return 0;
  }
  if (asked.kind === 'mistake') {
    const more = asked.command ? `tilewarden ${asked.command.name} --help` : 'tilewarden --help';
    terminal.err(`${asked.message}\nSee: ${more}\n`);
    return MISUSED;
  }
  try {
    return await asked.command.run(asked.flags, terminal, asked.given);
  } catch (error) {
    terminal.err(explain(error));
    return error instanceof CommandFailure ? error.exitCode : FAILED;
  }
}

function explain(error: unknown): string {
  if (error instanceof CommandFailure) return `${error.message}\n`;
  if (error instanceof SettingsError) return `The settings cannot be used:\n${lines(error.problems)}`;
  // Failures that have a name in the house carry a message for people; others carry a stack for us.
  const named = error instanceof Error && error.name === 'TilewardenError';
  if (named) return `${error.message}\n`;
  return `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`;
}

function lines(problems: readonly string[]): string {
  return problems.map((problem) => `  ${problem}\n`).join('');
}

function generalHelp(commands: readonly Command[]): string {
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

function commandHelp({ name, summary, operands, flags }: Command): string {
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
