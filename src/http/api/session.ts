import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { readSessionCookie, sessionCookie } from '../door/access.ts';
import type { Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { readBody } from '../wire/read-body.ts';

export const loginBody = z.strictObject({ name: z.string(), password: z.string() });
export const newPasswordBody = z.strictObject({ current: z.string(), password: z.string() });

/** `/api/v1/session` and `/session.json`: logging in to the console and out of it; `/api/v1/me`: who the caller is. */
export function sessionRoutes({ accounts }: RouteDeps): readonly Route[] {
  const { users, authenticator, sessions, externalSessions, oidc, audit } = accounts;
  const path = '/api/v1/session';
  return [
    { method: 'POST', path, role: 'public', handler: logIn },
    { method: 'DELETE', path, role: 'viewer', handler: logOut },
    { method: 'GET', path: '/session.json', role: 'public', handler: tell },
    { method: 'GET', path: '/api/v1/me', role: 'viewer', handler: show },
    { method: 'PUT', path: '/api/v1/me/password', role: 'viewer', handler: changePassword },
  ];

  /** For pages, which must know whether to show a form: asking `/api/v1/me` would be refused. */
  async function tell(exchange: Exchange): Promise<Answer> {
    const caller = shownCaller(await exchange.identify());
    return jsonAnswer({ caller, oidc: Boolean(oidc) }, ['Cache-Control', 'no-store']);
  }

  async function logIn(exchange: Exchange): Promise<Answer> {
    const { name, password } = readBody(exchange, loginBody);
    const caller = await authenticator.byPassword(name, password, exchange.source);
    if (!caller) throw exchange.credentialsNeeded();
    const { id, source } = exchange;
    const entry = { id, phase: 'ended', action: 'login', outcome: 'done', status: 200 } as const;
    await audit.record({ ...entry, actor: caller.name, via: 'session', source });
    await endCurrent(exchange);
    const { role, layers } = caller;
    return jsonAnswer({ name: caller.name, role, layers }, await cookieFor(exchange, caller.name));
  }

  async function logOut(exchange: Exchange): Promise<Answer> {
    await endCurrent(exchange);
    const headers = ['Set-Cookie', sessionCookie('', exchange.secure)];
    if (exchange.caller?.via !== 'oidc') return { status: 204, headers, body: null };
    const logoutUrl = (await oidc?.logoutUrl(`${exchange.baseUrl}/`)) ?? null;
    return jsonAnswer({ logoutUrl }, headers);
  }

  async function endCurrent(exchange: Exchange): Promise<void> {
    const current = readSessionCookie(exchange.headers.cookie ?? null, exchange.secure);
    if (current === null) return;
    await sessions.end(current);
    await externalSessions.end(current);
  }

  async function cookieFor(exchange: Exchange, userName: string): Promise<readonly string[]> {
    return ['Set-Cookie', sessionCookie(await sessions.begin(userName), exchange.secure)];
  }

  async function show({ caller }: Exchange): Promise<Answer> {
    if (!caller) return jsonAnswer(null);
    const user = isUser(caller.via) ? await users.find(caller.name) : null;
    return jsonAnswer({ ...shownCaller(caller), passwordIsInitial: user?.passwordIsInitial ?? false });
  }

  /** Who walks up to a console that was left open does not know the old password. */
  async function changePassword(exchange: Exchange): Promise<Answer> {
    const { caller } = exchange;
    if (!caller || !isUser(caller.via)) {
      throw new HttpProblem('forbidden', 'Only a user who has logged in has a password to change.');
    }
    const target = `user:${caller.name}`;
    exchange.change = { target };
    const { current, password } = readBody(exchange, newPasswordBody);
    const known = await authenticator.byPassword(caller.name, current, exchange.source);
    if (!known) throw new HttpProblem('forbidden', 'The current password is wrong.');
    await users.change(caller.name, { password });
    exchange.change = { target, after: { passwordChanged: true } };
    const headers = caller.via === 'session' ? await cookieFor(exchange, caller.name) : [];
    return { status: 204, headers, body: null };
  }
}

function shownCaller(caller: Caller | null): object | null {
  if (!caller) return null;
  const { account: _, ...shown } = caller;
  return shown;
}

function isUser(via: string): boolean {
  return via === 'basic' || via === 'session';
}
