import { systemClock } from '../lib/clock.ts';
import {
  accountFlags,
  changeAccounts,
  consoleActor,
  layersIn,
  roleIn,
  withAccounts,
} from './account-command.ts';
import { type Command, CommandFailure, type FlagValues, SETTING_FLAGS, type Terminal } from './command.ts';
import { columns } from './plain-words.ts';

const DAY_MS = 24 * 60 * 60_000;

export const token: Command = {
  name: 'token',
  summary: 'create and revoke API tokens, in the data folder itself',
  operands: { usage: 'create NAME, revoke ID, or list', least: 1, most: 2 },
  flags: [
    ...accountFlags('create'),
    { name: 'expires', placeholder: 'WHEN', help: 'e.g. 90d or 2027-01-31; never when absent (create)' },
    ...SETTING_FLAGS,
  ],
  async run(flags, terminal, { operands: [what, subject] }) {
    if (what === 'list' && subject === undefined) return list(flags, terminal);
    if (what === 'create' && subject !== undefined) return create(subject, flags, terminal);
    if (what === 'revoke' && subject !== undefined) return revoke(subject, flags, terminal);
    throw new CommandFailure('Usage: tilewarden token create NAME --role ROLE, revoke ID, or list.');
  },
};

async function list(flags: FlagValues, terminal: Terminal): Promise<number> {
  const tokens = await withAccounts(flags, (accounts) => accounts.tokens.list());
  const rows = tokens.map(({ id, name, role, layers, createdBy, expiresAt, lastUsedAt }) => [
    String(id),
    name,
    role,
    layers.join(','),
    createdBy,
    timeOf(expiresAt),
    timeOf(lastUsedAt),
  ]);
  terminal.out(columns([['ID', 'NAME', 'ROLE', 'LAYERS', 'MADE BY', 'EXPIRES', 'LAST USED'], ...rows]));
  return 0;
}

/** Standard output gets the token and nothing else, so that a script can take it. */
async function create(name: string, flags: FlagValues, terminal: Terminal): Promise<number> {
  const draft = { name, role: roleIn(flags), layers: layersIn(flags), expiresAt: expiryIn(flags) };
  const { secret } = await changeAccounts(
    flags,
    { action: 'token create', target: `token:${name}`, after: draft },
    (accounts) => accounts.tokens.create(draft, consoleActor()),
  );
  terminal.out(`${secret}\n`);
  terminal.err('This is the only time it is shown.\n');
  return 0;
}

async function revoke(id: string, flags: FlagValues, terminal: Terminal): Promise<number> {
  if (!/^\d{1,15}$/.test(id))
    throw new CommandFailure('Give the number of the token; see tilewarden token list.');
  await changeAccounts(flags, { action: 'token revoke', target: `token:${id}` }, (accounts) =>
    accounts.tokens.revoke(Number(id)),
  );
  terminal.err(`Revoked token ${id}.\n`);
  return 0;
}

function expiryIn({ expires }: FlagValues): number | null {
  if (expires === undefined) return null;
  const days = /^(\d{1,5})d$/.exec(expires)?.[1];
  const time = days === undefined ? Date.parse(expires) : systemClock.now() + Number(days) * DAY_MS;
  if (!Number.isNaN(time)) return time;
  throw new CommandFailure('--expires must be a number of days such as 90d, or a date such as 2027-01-31.');
}

function timeOf(milliseconds: number | null): string {
  return milliseconds === null ? 'never' : new Date(milliseconds).toISOString();
}
