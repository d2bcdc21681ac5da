import type { SessionStore } from '../../access/session-store.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { readSessionCookie, sessionCookie } from '../door/access.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { readBody } from '../wire/read-body.ts';
import { loginSchema } from './account-schemas.ts';

/** `/api/v1/session` and `/session.json`: logging in to the console and out of it, and whether somebody is. */
export function sessionRoutes({ authenticator, sessions, audit }: RouteDeps['accounts']): readonly Route[] {
  const path = '/api/v1/session';
  return [
    { method: 'POST', path, role: 'public', handler: logIn },
    { method: 'DELETE', path, role: 'viewer', handler: logOut },
    { method: 'GET', path: '/session.json', role: 'public', handler: tell },
  ];

  /** For pages, which must know whether to show a form: asking `/api/v1/me` would be refused. */
  async function tell(exchange: Exchange): Promise<Answer> {
    return jsonAnswer({ caller: await exchange.identify() }, ['Cache-Control', 'no-store']);
  }

  async function logIn(exchange: Exchange): Promise<Answer> {
    const { name, password } = readBody(exchange, loginSchema);
    const caller = await authenticator.byPassword(name, password, exchange.source);
    if (!caller) throw exchange.credentialsNeeded();
    await audit.record({
      id: exchange.id,
      phase: 'ended',
      action: 'login',
      actor: caller.name,
      source: exchange.source,
      outcome: 'done',
      status: 200,
    });
    await endCurrent(exchange);
    const { role, layers } = caller;
    return jsonAnswer({ name: caller.name, role, layers }, await cookieFor(exchange, sessions, caller.name));
  }

  async function logOut(exchange: Exchange): Promise<Answer> {
    await endCurrent(exchange);
    return { status: 204, headers: ['Set-Cookie', sessionCookie('', exchange.secure)], body: null };
  }

  async function endCurrent(exchange: Exchange): Promise<void> {
    const current = readSessionCookie(exchange.headers.cookie ?? null, exchange.secure);
    if (current !== null) await sessions.end(current);
  }
}

/** Begins a session. */
export async function cookieFor(
  exchange: Exchange,
  sessions: SessionStore,
  userName: string,
): Promise<readonly string[]> {
  return ['Set-Cookie', sessionCookie(await sessions.begin(userName), exchange.secure)];
}
