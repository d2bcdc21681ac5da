import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { accountFlags, changeAccounts, layersIn, roleIn, withAccounts } from './account-command.ts';
import { type Command, CommandFailure, type FlagValues, SETTING_FLAGS, type Terminal } from './command.ts';
import { columns } from './plain-words.ts';

type Action = (name: string, flags: FlagValues, terminal: Terminal) => Promise<void>;

const ACTIONS: ReadonlyMap<string, Action> = new Map([
  ['add', add],
  ['passwd', changePassword],
  ['remove', remove],
]);

export const user: Command = {
  name: 'user',
  summary: 'add and remove users and set their passwords, in the data folder itself',
  operands: { usage: 'add|passwd|remove NAME, or list', least: 1, most: 2 },
  flags: [...accountFlags('add'), ...SETTING_FLAGS],
  async run(flags, terminal, { operands: [what = '', name] }) {
    if (what === 'list' && name === undefined) return list(flags, terminal);
    const action = ACTIONS.get(what);
    if (!action || name === undefined) {
      throw new CommandFailure(
        'Usage: tilewarden user add NAME --role ROLE, passwd NAME, remove NAME, or list.',
      );
    }
    await action(name, flags, terminal);
    return 0;
  },
};

async function list(flags: FlagValues, terminal: Terminal): Promise<number> {
  const users = await withAccounts(flags, (accounts) => accounts.users.list());
  terminal.out(
    columns([
      ['NAME', 'ROLE', 'LAYERS'],
      ...users.map(({ name, role, layers }) => [name, role, layers.join(',')]),
    ]),
  );
  return 0;
}

async function add(name: string, flags: FlagValues, terminal: Terminal): Promise<void> {
  const draft = {
    name,
    role: roleIn(flags),
    layers: layersIn(flags),
    password: await readPassword(terminal),
  };
  const { role, layers } = draft;
  await changeAccounts(flags, { ...changeOf('add', name), after: { role, layers } }, (accounts) =>
    accounts.users.add(draft),
  );
  terminal.err(`Created user ${name} with the role ${role}.\n`);
}

async function changePassword(name: string, flags: FlagValues, terminal: Terminal): Promise<void> {
  const password = await readPassword(terminal);
  await changeAccounts(flags, { ...changeOf('passwd', name), after: { passwordChanged: true } }, (accounts) =>
    accounts.users.change(name, { password }),
  );
  terminal.err(`Changed the password of user ${name} and ended their sessions.\n`);
}

async function remove(name: string, flags: FlagValues, terminal: Terminal): Promise<void> {
  await changeAccounts(flags, changeOf('remove', name), (accounts) => accounts.users.remove(name));
  terminal.err(`Deleted user ${name} and the tokens they created.\n`);
}

function changeOf(what: string, name: string) {
  return { action: `user ${what}`, target: `user:${name}` };
}

/** Asked for twice on a terminal, without showing it; otherwise the first line of standard input. */
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
  throw new CommandFailure('The password is read from standard input, and there is none.');
}
