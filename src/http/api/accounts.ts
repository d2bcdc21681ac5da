/** Users, accounts of other sign-in systems, tokens, and keys for readers. */
import { z } from 'zod';
import { type Caller, externalAccount, ROLES, WAYS_IN } from '../../access/caller.ts';
import type { ExternalAccount } from '../../access/external-accounts.ts';
import type { ReaderKey } from '../../access/reader-key.ts';
import type { ApiToken } from '../../access/token-store.ts';
import type { User } from '../../access/user.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import { createdResponse, idIn } from '../context.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { areaNamed } from './areas.ts';
import { count, texts, time } from './values.ts';

const role = z.enum(ROLES);
const rights = { name: z.string(), role, layers: texts };
const newRights = { name: z.string(), role, layers: texts.default(['*']) };

const areaNames = texts.nullable().describe('Names of areas; null: everywhere');

export const userBody = z.strictObject({
  ...newRights,
  areas: areaNames.default(null),
  password: z.string(),
});
export const userChangesBody = z
  .strictObject({ password: z.string(), role, layers: texts, areas: areaNames })
  .partial()
  .refine((changes) => Object.keys(changes).length > 0, 'must have a password, role, layers or areas');
export const userResponse = z.object({
  ...rights,
  areas: areaNames,
  passwordIsInitial: z.boolean(),
  createdAt: time,
  changedAt: time,
});

/** Parsed to milliseconds since 1970; null or absent: never. */
const expiresAt = z.iso
  .datetime({ offset: true })
  .nullable()
  .default(null)
  .transform((text) => (text === null ? null : Date.parse(text)));

export const signOutResponse = z.object({ sessions: count.describe('Open sessions that were ended') });

export const externalAccountResponse = z.object({
  id: z.number().int(),
  name: z.string(),
  via: z.enum(['oidc', 'proxy']),
  issuer: z.string().nullable(),
  subject: z.string(),
  role: role.nullable().describe('By the current configuration; null: no access'),
  layers: texts,
  sessions: count.describe('Open sessions'),
  tokens: count.describe('Tokens that the account owns'),
  signedInAt: time,
});

export const tokenBody = z.strictObject({ ...newRights, expiresAt });
export const tokenResponse = z.object({
  id: z.number().int(),
  ...rights,
  createdBy: z.string(),
  account: z.string().nullable().describe('The external account that owns it; null: a local user, or none'),
  createdAt: time,
  expiresAt: time.nullable(),
  lastUsedAt: time.nullable(),
});

const limit = z.number().nullable().default(null);
export const keyBody = z.strictObject({
  name: z.string(),
  layers: texts,
  areas: areaNames.default(null),
  origins: texts.nullable().default(null),
  ratePerSecond: limit,
  requestsPerDay: limit,
  expiresAt,
});
export const keyResponse = keyBody.extend({
  id: z.number().int(),
  requestsToday: count.describe('Since midnight UTC, to the minute'),
  expiresAt: time.nullable(),
  createdAt: time,
  lastUsedAt: time.nullable(),
});

export const sessionResponse = z.object(rights);
export const callerResponse = z.object({
  ...rights,
  via: z.enum(WAYS_IN),
  passwordIsInitial: z.boolean(),
});

export async function listUsers(_: Call, { accounts: { users } }: ApiDeps) {
  return { users: (await users.list()).map(userDocument) };
}

export async function showUser({ params }: Call<{ params: 'name' }>, { accounts: { users } }: ApiDeps) {
  const user = await users.find(params.name);
  if (user) return userDocument(user);
  throw new TilewardenError('account-unknown', 'There is no such user.');
}

export async function addUser(
  { body, context, note }: Call<{ body: typeof userBody }>,
  { accounts: { users }, areas }: ApiDeps,
) {
  note({ target: `user:${body.name}` });
  for (const name of body.areas ?? []) areaNamed(name, areas);
  const user = await users.add(body);
  note({ target: `user:${user.name}`, after: userRights(user) });
  return createdResponse(context, `/api/v1/users/${encodeURIComponent(user.name)}`, userDocument(user));
}

export async function changeUser(
  { params, body, note }: Call<{ params: 'name'; body: typeof userChangesBody }>,
  { accounts: { users }, areas }: ApiDeps,
) {
  for (const name of body.areas ?? []) areaNamed(name, areas);
  const { before, after } = await users.change(params.name, body);
  const passwordChanged = body.password !== undefined;
  const target = `user:${params.name}`;
  note({ target, before: userRights(before), after: { ...userRights(after), passwordChanged } });
  return userDocument(after);
}

export async function removeUser(
  { params: { name }, note }: Call<{ params: 'name' }>,
  { accounts: { users } }: ApiDeps,
) {
  note({ target: `user:${name}`, before: userRights(await users.remove(name)) });
}

/** The user's password and tokens stay valid. */
export async function signOutUser(
  { params: { name }, note }: Call<{ params: 'name' }>,
  { accounts: { users, sessions } }: ApiDeps,
) {
  if (!(await users.find(name))) throw new TilewardenError('account-unknown', 'There is no such user.');
  const ended = { sessions: await sessions.endAll(name) };
  note({ target: `user:${name}`, after: ended });
  return ended;
}

export async function listExternalAccounts(_: Call, { accounts: { externals } }: ApiDeps) {
  return { accounts: (await externals.list()).map(externalDocument) };
}

export async function signOutExternal(call: Call<{ params: 'id' }>, { accounts: { externals } }: ApiDeps) {
  const { account, sessions } = await externals.signOut(idIn(call));
  call.note({ target: account, after: { sessions } });
  return { sessions };
}

export async function removeExternal(call: Call<{ params: 'id' }>, { accounts: { externals } }: ApiDeps) {
  call.note({ target: (await externals.remove(idIn(call))).account });
}

function externalDocument({ rights, signedInAt, ...account }: ExternalAccount) {
  const via = account.issuer === null ? 'proxy' : 'oidc';
  const { role, layers } = rights ?? { role: null, layers: [] };
  return { ...account, via, role, layers, signedInAt: isoTime(signedInAt) };
}

function userRights({ role, layers, areas }: User): object {
  return { role, layers, areas };
}

function userDocument({ name, role, layers, areas, passwordIsInitial, createdAt, changedAt }: User): object {
  const times = { createdAt: isoTime(createdAt), changedAt: isoTime(changedAt) };
  return { name, role, layers, areas, passwordIsInitial, ...times };
}

export async function listTokens(_: Call, { accounts }: ApiDeps) {
  return { tokens: (await accounts.tokens.list()).map(credentialDocument) };
}

export async function createToken(call: Call<{ body: typeof tokenBody }>, { accounts }: ApiDeps) {
  const { external, ownerAccount = null, via } = call.caller;
  // The account of a session is stored already, unless it has been removed since.
  if (external && via !== 'oidc') await accounts.externals.remember(external);
  const owner = external ? externalAccount(external) : ownerAccount;
  const { token, secret } = await accounts.tokens.create(call.body, tokenOwner(call.caller), owner);
  return createdCredential(call, 'token', credentialDocument(token), secret);
}

export async function revokeToken(call: Call<{ params: 'id' }>, { accounts }: ApiDeps) {
  const before = credentialDocument(await accounts.tokens.revoke(idIn(call)));
  call.note({ target: `token:${call.params.id}`, before });
}

export async function listKeys(_: Call, { accounts }: ApiDeps) {
  return { keys: (await accounts.readerKeys.list()).map(credentialDocument) };
}

export async function createKey(call: Call<{ body: typeof keyBody }>, { accounts, areas }: ApiDeps) {
  for (const name of call.body.areas ?? []) areaNamed(name, areas);
  const { key, secret } = await accounts.readerKeys.create(call.body, tokenOwner(call.caller));
  return createdCredential(call, 'key', credentialDocument(key), secret);
}

export async function removeKey(call: Call<{ params: 'id' }>, { accounts }: ApiDeps) {
  const before = credentialDocument(await accounts.readerKeys.remove(idIn(call)));
  call.note({ target: `key:${call.params.id}`, before });
}

function createdCredential(
  { context, note }: Call,
  kind: 'token' | 'key',
  after: ReturnType<typeof credentialDocument>,
  secret: string,
) {
  note({ target: `${kind}:${after.id}`, after });
  return createdResponse(context, `/api/v1/${kind}s/${after.id}`, { ...after, [kind]: secret });
}

/** A token that was created with another token belongs to the same user, and is removed with that user. */
function tokenOwner({ external, via, owner, name }: Caller): string {
  // `via` distinguishes the account from a local user of the same name.
  return external || via === 'machine' ? `${via}:${name}` : (owner ?? name);
}

function credentialDocument({ createdAt, expiresAt, lastUsedAt, ...shown }: ApiToken | ReaderKey) {
  const times = { createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) };
  return { ...shown, ...times, lastUsedAt: isoTime(lastUsedAt) };
}
