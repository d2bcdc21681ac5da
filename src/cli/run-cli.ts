import { parseArgs } from 'node:util';
import { readVersion } from '../config/environment.ts';
import { SettingsError } from '../config/settings-error.ts';
import { closestName } from '../lib/closest-name.ts';
import { UnavailableError } from '../lib/error-code.ts';
import { type Arguments, type Command, CommandFailure, type FlagValues, type Terminal } from './command.ts';
import { columns } from './format.ts';

const FAILED = 1;
const MISUSED = 2;

export async function runCli(
  args: readonly string[],
  commands: readonly Command[],
  terminal: Terminal,
): Promise<number> {
  const invocation = readArguments(args, commands);
  if (invocation.kind === 'version') {
    terminal.out(`${readVersion()}\n`);
    return 0;
  }
  const helpOf = (command: Command | null) => (command ? commandHelp(command) : generalHelp(commands));
  if (invocation.kind === 'help') {
    terminal.out(helpOf(invocation.command));
    return 0;
  }
  if (invocation.kind === 'mistake') {
    const more = invocation.command ? `tilewarden ${invocation.command.name} --help` : 'tilewarden --help';
    terminal.err(`${invocation.message}\nSee: ${more}\n`);
    return MISUSED;
  }
  try {
    return await invocation.command.run(invocation.flags, terminal, invocation.args);
  } catch (error) {
    terminal.err(explain(error));
    return error instanceof CommandFailure ? error.exitCode : FAILED;
  }
}

function explain(error: unknown): string {
  if (error instanceof CommandFailure) return `${error.message}\n`;
  if (error instanceof SettingsError) {
    return ['The settings cannot be used:', ...error.problems.map((problem) => `  ${problem}`), ''].join(
      '\n',
    );
  }
  // A `TilewardenError` has a message for users; any other error is shown with its stack.
  const named = error instanceof Error && error.name === 'TilewardenError';
  if (named) return `${error.message}\n`;
  if (error instanceof UnavailableError) {
    const why = error.cause instanceof Error ? ` ${error.cause.message}` : '';
    return `${error.message}${why}\n`;
  }
  return `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`;
}

function generalHelp(commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }) => [`  ${name}`, summary]);
  return [
    'Tilewarden, a map-tile cache that is administered over HTTP',
    '',
    'Usage: tilewarden COMMAND [FLAGS]',
    '',
    columns(rows),
    'tilewarden COMMAND --help lists the flags of a command; tilewarden --version prints the version.',
    'Map servers are asked through the proxies of HTTP_PROXY and HTTPS_PROXY, except for hosts in NO_PROXY.',
    '',
  ].join('\n');
}

function commandHelp({ name, summary, operands, flags }: Command): string {
  const rows = flags.map((flag) => [`  --${flag.name} ${flag.placeholder ?? ''}`.trimEnd(), flag.help]);
  const usage = operands ? [`Usage: tilewarden ${name} ${operands.usage} [FLAGS]`, ''] : [];
  return [`tilewarden ${name}: ${summary}`, '', ...usage, columns(rows)].join('\n');
}

type ReadArguments =
  | { readonly kind: 'run'; readonly command: Command; readonly flags: FlagValues; readonly args: Arguments }
  | { readonly kind: 'help'; readonly command: Command | null }
  | { readonly kind: 'version' }
  | { readonly kind: 'mistake'; readonly message: string; readonly command: Command | null };

function readArguments(args: readonly string[], commands: readonly Command[]): ReadArguments {
  const [first, ...rest] = args;
  if (first === undefined) return { kind: 'mistake', message: 'No command given.', command: null };
  if (first === '--help' || first === '-h' || first === 'help') return { kind: 'help', command: null };
  if (first === '--version' || first === '-v') return { kind: 'version' };
  const command = commands.find(({ name }) => name === first);
  if (command) return readFlags(command, rest);
  const what = first.startsWith('-') ? `Give a command before ${first}.` : `Unknown command ${first}.`;
  return {
    kind: 'mistake',
    message:
      what +
      suggestion(
        first,
        commands.map(({ name }) => name),
      ),
    command: null,
  };
}

function readFlags(command: Command, args: readonly string[]): ReadArguments {
  const known = new Map(command.flags.map((flag) => [flag.name, flag]));
  const options = Object.fromEntries(
    command.flags.map(({ name, placeholder }) => [
      name,
      { type: placeholder ? 'string' : 'boolean' } as const,
    ]),
  );
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const flags: Record<string, string> = {};
  const operands: string[] = [];
  const repeated = new Map<string, readonly string[]>();
  const most = command.operands?.most ?? 0;
  const mistake = (message: string): ReadArguments => ({ kind: 'mistake', message, command });
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (operands.push(token.value) <= most) continue;
      return mistake(`${command.name} takes no argument ${token.value}.`);
    }
    if (token.kind === 'option-terminator') continue;
    if (token.name === 'help' || token.name === 'h') return { kind: 'help', command };
    const flag = known.get(token.name);
    if (!flag) {
      const names = [...known.keys()].map((name) => `--${name}`);
      return mistake(`${command.name} has no flag ${token.rawName}.${suggestion(token.rawName, names)}`);
    }
    if (flag.placeholder && !token.value)
      return mistake(`${token.rawName} needs a value: ${flag.placeholder}.`);
    if (!flag.placeholder && token.value !== undefined) return mistake(`${token.rawName} takes no value.`);
    const value = token.value ?? 'true';
    flags[token.name] = value;
    if (flag.repeatable) repeated.set(token.name, [...(repeated.get(token.name) ?? []), value]);
  }
  if (command.operands && operands.length < command.operands.least) {
    return mistake(`Missing argument. Usage: tilewarden ${command.name} ${command.operands.usage}`);
  }
  return { kind: 'run', command, flags, args: { operands, repeated } };
}

function suggestion(name: string, names: readonly string[]): string {
  const meant = closestName(name, names);
  return meant ? ` Did you mean ${meant}?` : '';
}
