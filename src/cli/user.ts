import { changeAccounts, layersIn, roleIn, withAccounts } from './account-command.ts';
import { columns } from './columns.ts';
import type { Command, FlagValues, Terminal } from './command.ts';
import { CommandFailure } from './command-failure.ts';
import { readPassword } from './read-password.ts';
import { SETTING_FLAGS } from './setting-flags.ts';

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
  flags: [
    { name: 'role', placeholder: 'ROLE', help: 'viewer, operator or admin (add)' },
    {
      name: 'layers',
      placeholder: 'PATTERNS',
      help: 'layers they may change, e.g. topp:*,world; all when absent (add)',
    },
    ...SETTING_FLAGS,
  ],
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
