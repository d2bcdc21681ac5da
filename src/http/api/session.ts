/** Sign-in and sign-out with a password, the caller's own account, and its password. */
import { z } from 'zod';
import { accountOf, type Caller } from '../../access/caller.ts';
import { MAX_USER_NAME_LENGTH, type User } from '../../access/user.ts';
import { readSessionCookie, sessionCookie } from '../auth/access.ts';
import type { Context } from '../context.ts';
import { HttpProblem } from '../problems.ts';
import { jsonResponse } from '../response.ts';
import type { ApiDeps, Call } from './api-route.ts';

export const loginBody = z.strictObject({ name: z.string().max(MAX_USER_NAME_LENGTH), password: z.string() });
export const newPasswordBody = z.strictObject({ current: z.string(), password: z.string() });

/** For pages, which show a sign-in form if `caller` is null; `/api/v1/me` would be a 401. */
export async function showSession({ context }: Call, { accounts: { oidc } }: ApiDeps) {
  const caller = shownCaller(await context.identify());
  return jsonResponse({ caller, oidc: Boolean(oidc) }, ['Cache-Control', 'no-store']);
}

export async function logIn({ body, context }: Call<{ body: typeof loginBody }>, deps: ApiDeps) {
  const { authenticator, audit } = deps.accounts;
  const { id, source } = context;
  const caller = await authenticator.byPassword(body.name, body.password, source);
  if (!caller) throw context.credentialsNeeded();
  const { name, role, layers } = caller;
  const entry = { id, phase: 'ended', action: 'login', outcome: 'done', status: 200 } as const;
  await audit.record({ ...entry, actor: name, account: accountOf(caller), via: 'session', source });
  const cookie = await cookieFor(context, authenticator.userOf(caller), deps);
  await endCurrent(context, deps);
  return jsonResponse({ name, role, layers }, cookie);
}

export async function logOut({ context, caller }: Call, deps: ApiDeps) {
  await endCurrent(context, deps);
  const headers = ['Set-Cookie', sessionCookie('', context.secure)];
  if (caller.via !== 'oidc') return { status: 204, headers, body: null };
  const logoutUrl = (await deps.accounts.oidc?.logoutUrl(`${context.baseUrl}/`)) ?? null;
  return jsonResponse({ logoutUrl }, headers);
}

async function endCurrent(context: Context, { accounts }: ApiDeps): Promise<void> {
  const current = readSessionCookie(context.headers.cookie ?? null, context.secure);
  if (current === null) return;
  await accounts.sessions.end(current);
  await accounts.externals.end(current);
}

/** Begins no session if the user was changed or removed after the password check. */
async function cookieFor(
  context: Context,
  user: User | null,
  { accounts }: ApiDeps,
): Promise<readonly string[]> {
  const secret = user && (await accounts.sessions.begin(user));
  if (secret === null) throw context.credentialsNeeded();
  return ['Set-Cookie', sessionCookie(secret, context.secure)];
}

export async function showCaller({ caller }: Call, { accounts }: ApiDeps) {
  const user = isUser(caller.via) ? await accounts.users.find(caller.name) : null;
  return { ...shownCaller(caller), passwordIsInitial: user?.passwordIsInitial ?? false };
}

/** Needs the current password too: a console may have been left open to others. */
export async function changePassword(
  { body, caller, context, note }: Call<{ body: typeof newPasswordBody }>,
  deps: ApiDeps,
) {
  const { users, authenticator } = deps.accounts;
  const { name, via } = caller;
  if (!isUser(via)) {
    throw new HttpProblem('forbidden', 'Only a user who has logged in has a password to change.');
  }
  const checked = await authenticator.byPassword(name, body.current, context.source);
  const user = checked && authenticator.userOf(checked);
  if (!user) throw new HttpProblem('forbidden', 'The current password is wrong.');
  // Throws if `user` has changed since the check, e.g. if an administrator has replaced the password.
  const { after } = await users.change(name, { password: body.password }, user);
  note({ target: `user:${name}`, after: { passwordChanged: true }, administrative: true });
  const headers = via === 'session' ? await cookieFor(context, after, deps) : [];
  return { status: 204, headers, body: null };
}

function shownCaller(caller: Caller | null): object | null {
  if (!caller) return null;
  const { external: _, ownerAccount: __, ...shown } = caller;
  return shown;
}

function isUser(via: string): boolean {
  return via === 'basic' || via === 'session';
}
