import { parseArgs } from 'node:util';
import { closestName } from '../lib/closest-name.ts';
import type { Command, FlagValues, Given } from './command.ts';

export type ReadArguments =
  | { readonly kind: 'run'; readonly command: Command; readonly flags: FlagValues; readonly given: Given }
  | { readonly kind: 'help'; readonly command: Command | null }
  | { readonly kind: 'version' }
  | { readonly kind: 'mistake'; readonly message: string; readonly command: Command | null };

export function readArguments(args: readonly string[], commands: readonly Command[]): ReadArguments {
  const [first, ...rest] = args;
  if (first === undefined) return { kind: 'mistake', message: 'Which command?', command: null };
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
      return mistake(`${command.name} does not know what to do with ${token.value}.`);
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
  return { kind: 'run', command, flags, given: { operands, repeated } };
}

function suggestion(given: string, names: readonly string[]): string {
  const meant = closestName(given, names);
  return meant ? ` Did you mean ${meant}?` : '';
}
