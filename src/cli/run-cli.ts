import { SettingsError } from '../config/settings-error.ts';
import { readVersion } from '../config/version.ts';
import type { Command, Terminal } from './command.ts';
import { CommandFailure } from './command-failure.ts';
import { commandHelp, generalHelp } from './help.ts';
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
