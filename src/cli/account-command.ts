import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import {
  type Command,
  CommandFailure,
  DATA_FLAGS,
  type Flag,
  type FlagValues,
  flag,
  momentIn,
  settingsFor,
  type Terminal,
} from './command.ts';
import { columns } from './format.ts';
import { PRIVATE_FILES } from './process-setup.ts';

type Accounts = Awaited<ReturnType<typeof import('../app/offline.ts')['openAccountsApp']>>;

type AccountWork<Result> = (accounts: Accounts) => Promise<Result>;

/** Works on the data folder itself, so it also works when no account can log in or no server runs. */
async function withAccounts<Result>(flags: FlagValues, work: AccountWork<Result>): Promise<Result> {
  process.umask(PRIVATE_FILES);
  const { settings } = await settingsFor(flags);
  const log = createLogger('warn');
  const { openAccountsApp } = await import('../app/offline.ts');
  const accounts = await openAccountsApp(settings, { log, clock: systemClock });
  try {
    return await work(accounts);
  } finally {
    await accounts.close();
  }
}

/** Changes made at the machine are audited too. `after`: the change, without secrets. */
async function changeAccounts<Result>(
  flags: FlagValues,
  [kind, verb, subject]: readonly ['user' | 'token', string, string],
  after: object | undefined,
  work: AccountWork<Result>,
): Promise<Result> {
  return withAccounts(flags, async (accounts) => {
    const actor = consoleActor();
    const [action, target] = [`${kind} ${verb}`, `${kind}:${subject}`];
    const draft = { actor, account: actor, action, target, administrative: true } as const;
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

/** The actor of changes made at the machine; no user's name contains a colon. */
function consoleActor(): string {
  return `console:${userInfo().username}`;
}

/** `action`: the one that the help names for them. */
function accountFlags(action: string): readonly Flag[] {
  const layers = `layers to work on, e.g. topp:*,world; all when absent (${action})`;
  return [flag('role', 'ROLE', `${ROLES.join(', ')} (${action})`), flag('layers', 'PATTERNS', layers)];
}

/** `topp:*,world` as a list; every layer by default. */
function layersFlag(flags: FlagValues): readonly string[] {
  return flags.layers?.split(',').map((pattern) => pattern.trim()) ?? ['*'];
}

const ROLES = ['viewer', 'operator', 'admin'] as const;

function roleIn(flags: FlagValues): (typeof ROLES)[number] {
  const role = ROLES.find((known) => known === flags.role);
  if (role) return role;
  throw new CommandFailure(`--role must be one of ${ROLES.join(', ')}.`);
}

interface AccountCommand extends Pick<Command, 'name' | 'summary' | 'flags'> {
  /** By the first operand; the second one is the subject. */
  readonly actions: ReadonlyMap<
    string,
    (subject: string, flags: FlagValues, terminal: Terminal) => Promise<void>
  >;
  /** The operands, and a whole line, for the usage. */
  readonly usage: readonly [operands: string, line: string];
  readonly list: AccountWork<readonly (readonly string[])[]>;
}

function accountCommand({ actions, usage, list, ...command }: AccountCommand): Command {
  const [operands, line] = usage;
  return {
    ...command,
    operands: { usage: operands, least: 1, most: 2 },
    async run(flags, terminal, { operands: [what = '', subject] }) {
      const action = actions.get(what);
      if (what === 'list' && subject === undefined) terminal.out(columns(await withAccounts(flags, list)));
      else if (action && subject !== undefined) await action(subject, flags, terminal);
      else throw new CommandFailure(`Usage: tilewarden ${line}`);
      return 0;
    },
  };
}

export const user = accountCommand({
  name: 'user',
  summary: 'add and remove users and set their passwords, in the data folder itself',
  usage: ['add|passwd|remove NAME, or list', 'user add NAME --role ROLE, passwd NAME, remove NAME, or list.'],
  flags: [...accountFlags('add'), ...DATA_FLAGS],
  actions: new Map([
    ['add', add],
    ['passwd', changePassword],
    ['remove', remove],
  ]),
  async list({ users }) {
    const rows = (await users.list()).map(({ name, role, layers }) => [name, role, layers.join(',')]);
    return [['NAME', 'ROLE', 'LAYERS'], ...rows];
  },
});

async function add(name: string, flags: FlagValues, terminal: Terminal): Promise<void> {
  const rights = { role: roleIn(flags), layers: layersFlag(flags) };
  const user = { name, ...rights, password: await readPassword(terminal) };
  await changeAccounts(flags, ['user', 'add', name], rights, ({ users }) => users.add(user));
  terminal.err(`Created user ${name} with the role ${rights.role}.\n`);
}

async function changePassword(name: string, flags: FlagValues, terminal: Terminal): Promise<void> {
  const password = await readPassword(terminal);
  await changeAccounts(flags, ['user', 'passwd', name], { passwordChanged: true }, ({ users }) =>
    users.change(name, { password }),
  );
  terminal.err(`Changed the password of user ${name} and ended their sessions.\n`);
}

async function remove(name: string, flags: FlagValues, terminal: Terminal): Promise<void> {
  await changeAccounts(flags, ['user', 'remove', name], undefined, ({ users }) => users.remove(name));
  terminal.err(`Deleted user ${name} and the tokens they created.\n`);
}

/** Read twice on a terminal, without echo; otherwise the first line of standard input. */
async function readPassword(terminal: Terminal): Promise<string> {
  if (process.stdin.isTTY !== true) return firstLine();
  const password = await ask(terminal, 'Password: ');
  if (password === (await ask(terminal, 'Repeat password: '))) return password;
  throw new CommandFailure('The two passwords differ; nothing was changed.');
}

async function ask(terminal: Terminal, question: string): Promise<string> {
  terminal.err(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: nowhere, terminal: true, historySize: 0 });
  try {
    return await reader.question('');
  } finally {
    reader.close();
    terminal.err('\n');
  }
}

async function firstLine(): Promise<string> {
  const reader = createInterface({ input: process.stdin });
  for await (const line of reader) return line;
  throw new CommandFailure('The password is read from standard input, which is empty.');
}

export const token = accountCommand({
  name: 'token',
  summary: 'create and revoke API tokens, in the data folder itself',
  usage: ['create NAME, revoke ID, or list', 'token create NAME --role ROLE, revoke ID, or list.'],
  flags: [
    ...accountFlags('create'),
    flag('expires', 'WHEN', 'e.g. 90d or 2027-01-31; never when absent (create)'),
    ...DATA_FLAGS,
  ],
  actions: new Map([
    ['create', createToken],
    ['revoke', revokeToken],
  ]),
  async list({ tokens }) {
    const rows = (await tokens.list()).map(({ id, name, role, layers, createdBy, ...token }) => {
      const times = [timeText(token.expiresAt), timeText(token.lastUsedAt)];
      return [String(id), name, role, layers.join(','), createdBy, ...times];
    });
    return [['ID', 'NAME', 'ROLE', 'LAYERS', 'CREATED BY', 'EXPIRES', 'LAST USED'], ...rows];
  },
});

/** Standard output gets the token and nothing else, so that a script can take it. */
async function createToken(name: string, flags: FlagValues, terminal: Terminal): Promise<void> {
  const draft = {
    name,
    role: roleIn(flags),
    layers: layersFlag(flags),
    expiresAt: momentIn('expires', flags, 1, systemClock),
  };
  const { secret } = await changeAccounts(flags, ['token', 'create', name], draft, ({ tokens }) =>
    tokens.create(draft, consoleActor()),
  );
  terminal.out(`${secret}\n`);
  terminal.err('The token is not shown again.\n');
}

async function revokeToken(id: string, flags: FlagValues, terminal: Terminal): Promise<void> {
  if (!/^\d{1,15}$/.test(id))
    throw new CommandFailure('Give the number of the token; see tilewarden token list.');
  await changeAccounts(flags, ['token', 'revoke', id], undefined, ({ tokens }) => tokens.revoke(Number(id)));
  terminal.err(`Revoked token ${id}.\n`);
}

function timeText(milliseconds: number | null): string {
  return milliseconds === null ? 'never' : new Date(milliseconds).toISOString();
}
