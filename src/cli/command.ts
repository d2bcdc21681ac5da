import { CLIENT_OVERRIDES } from '../config/client-settings.ts';
import { settingsInput } from '../config/environment.ts';
import type { LoadedSettings } from '../config/load-settings.ts';
import { CONFIG_FILE, SETTING_OVERRIDES, variableOf } from '../config/setting-overrides.ts';
import type { Clock } from '../lib/clock.ts';
import { countText, plural } from './format.ts';

export interface Flag {
  readonly name: string;
  /** Placeholder of the value in the help; null for a flag without a value. */
  readonly placeholder: string | null;
  readonly help: string;
  /** May be given more than once. */
  readonly repeatable: boolean;
}

export function flag(name: string, placeholder: string | null, help: string, repeatable = false): Flag {
  return { name, placeholder, help, repeatable };
}

interface Operands {
  /** Text of the help, e.g. `LAYER`. */
  readonly usage: string;
  readonly least: number;
  readonly most: number;
}

export interface Terminal {
  /** Standard output: the result of the command. */
  out(text: string): void;
  /** Standard error: everything else. */
  err(text: string): void;
  /** Width of standard error in columns; null or absent if it is no terminal. */
  readonly columns?: number | null;
}

export type FlagValues = Readonly<Record<string, string | undefined>>;

/** Operands, and flags with several values. */
export interface Arguments {
  readonly operands: readonly string[];
  /** Every value of the repeatable flags, in order. */
  readonly repeated: ReadonlyMap<string, readonly string[]>;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** None by default. */
  readonly operands?: Operands;
  readonly flags: readonly Flag[];
  /** Resolves with the exit code. Throws `CommandFailure` with a message for the user. */
  run(flags: FlagValues, terminal: Terminal, args: Arguments): Promise<number>;
}

/** A command failed for a known reason; only the message is shown to the user. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
  }
}

/** The command line is wrong, independent of the server. */
export function misuse(message: string): CommandFailure {
  return new CommandFailure(message, 2);
}

/** Prints the result of a command: with `--json` as it is, for scripts. Returns the exit code. */
export function printed(
  terminal: Terminal,
  flags: FlagValues,
  document: unknown,
  text: () => string,
): number {
  const shown = flags.json === undefined ? text() : JSON.stringify(document);
  terminal.out(`${shown.trimEnd()}\n`);
  return 0;
}

/** Flags of commands that use a running server. */
export const CLIENT_FLAGS = flagsOf(CLIENT_OVERRIDES);

export const SETTING_FLAGS = flagsOf([CONFIG_FILE, ...SETTING_OVERRIDES]);

/** The flags of a command that works on the data folder itself. */
export const DATA_FLAGS = settingFlags('config', 'data', 'database');

export function settingFlags(...names: readonly string[]): readonly Flag[] {
  return SETTING_FLAGS.filter(({ name }) => names.includes(name));
}

function flagsOf(overrides: readonly Omit<(typeof SETTING_OVERRIDES)[number], 'path'>[]): readonly Flag[] {
  return overrides.map(({ flag: name, placeholder, help }) =>
    flag(name, placeholder, `${help}; or ${variableOf({ flag: name })}`),
  );
}

/** Shows on a terminal how many are done; `what`: for example `tile`. */
export function progressOn(terminal: Terminal, what: string): (done: number, total: number) => void {
  if (!terminal.columns) return () => {};
  return (done, total) => {
    const share = total === 0 ? 100 : Math.min(100, Math.floor((done / total) * 100));
    const end = done >= total ? '\n' : '';
    terminal.err(`\r${String(share).padStart(3)} %  ${countText(done)} of ${plural(total, what)} ${end}`);
  };
}

/** Loads the reader of settings only now: it takes more processor time than all else that a start loads. */
export async function settingsFor(flags: FlagValues): Promise<LoadedSettings> {
  const { loadSettings } = await import('../config/load-settings.ts');
  return loadSettings(settingsInput(flags));
}

const MINUTE = 60_000;
const UNITS: Readonly<Record<string, number>> = {
  min: MINUTE,
  h: 60 * MINUTE,
  d: 24 * 60 * MINUTE,
  w: 7 * 24 * 60 * MINUTE,
};
const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** A date, or a time span before (-1) or after now (1), in milliseconds; null without the flag. */
export function momentIn(
  flag: string,
  flags: FlagValues,
  direction: -1 | 1,
  { now }: Pick<Clock, 'now'>,
): number | null {
  const text = flags[flag];
  if (text === undefined) return null;
  const [, amount, unit = ''] = /^(\d{1,5})\s*(min|h|d|w)$/i.exec(text.trim()) ?? [];
  const span = UNITS[unit.toLowerCase()];
  if (amount !== undefined && span !== undefined) return now() + direction * Number(amount) * span;
  const time = DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw misuse(
    `--${flag} must be a time span such as 7d, 12h or 30min, or a date such as 2027-01-31 or 2027-01-31T12:00:00Z, not ${text}.`,
  );
}
