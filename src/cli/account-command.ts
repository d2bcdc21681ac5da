import { userInfo } from 'node:os';
import { readEnvironment } from '../config/environment.ts';
import { loadSettings } from '../config/load-settings.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import { CommandFailure, type Flag, type FlagValues } from './command.ts';
import { PRIVATE_FILES } from './harden-process.ts';

type Accounts = Awaited<ReturnType<typeof import('../app.ts')['openAccountsApp']>>;

export type AccountWork<Result> = (accounts: Accounts) => Promise<Result>;

/** A change as the audit log has it. */
export interface AccountChange {
  readonly action: string;
  readonly target: string;
  /** What it will be. No secrets. */
  readonly after?: unknown;
}

/** Works on the data folder itself, so it also works when nobody can log in any more or no server runs. */
export async function withAccounts<Result>(flags: FlagValues, work: AccountWork<Result>): Promise<Result> {
  process.umask(PRIVATE_FILES);
  const environment = readEnvironment();
  const { settings } = loadSettings({ flags, environment, workingFolder: process.cwd() });
  const log = createLogger({ level: 'warn', pretty: process.stderr.isTTY === true });
  const { openAccountsApp } = await import('../app.ts');
  const accounts = await openAccountsApp(settings, { log, clock: systemClock });
  try {
    return await work(accounts);
  } finally {
    await accounts.close();
  }
}

/** Whoever is at the machine leaves a trace too. */
export async function changeAccounts<Result>(
  flags: FlagValues,
  { action, target, after }: AccountChange,
  work: AccountWork<Result>,
): Promise<Result> {
  return withAccounts(flags, async (accounts) => {
    const draft = { actor: consoleActor(), action, target } as const;
    const id = `console-${process.pid}-${systemClock.now().toString(36)}`;
    await accounts.audit.record({ ...draft, id, phase: 'begun' });
    try {
      const result = await work(accounts);
      await accounts.audit.record({ ...draft, id, phase: 'ended', after, outcome: 'done' });
      return result;
    } catch (error) {
      await accounts.audit.record({ ...draft, id, phase: 'ended', outcome: 'failed' });
      throw error;
    }
  });
}

/** Whoever is at the machine; no user's name holds a colon. */
export function consoleActor(): string {
  return `console:${userInfo().username}`;
}

/** `action`: the one that takes them. */
export function accountFlags(action: string): readonly Flag[] {
  const layers = `layers to work on, e.g. topp:*,world; all when absent (${action})`;
  return [
    { name: 'role', placeholder: 'ROLE', help: `${ROLES.join(', ')} (${action})` },
    { name: 'layers', placeholder: 'PATTERNS', help: layers },
  ];
}

/** `topp:*,world` as a list; every layer when nothing is said. */
export function layersIn(flags: FlagValues): readonly string[] {
  return flags.layers?.split(',').map((pattern) => pattern.trim()) ?? ['*'];
}

const ROLES = ['viewer', 'operator', 'admin'] as const;

export function roleIn(flags: FlagValues): (typeof ROLES)[number] {
  const role = ROLES.find((known) => known === flags.role);
  if (role) return role;
  throw new CommandFailure(`--role must be one of ${ROLES.join(', ')}.`);
}
