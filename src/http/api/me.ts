import { type Answer, jsonAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { readBody } from '../wire/read-body.ts';
import { newPasswordSchema } from './account-schemas.ts';
import { cookieFor } from './session.ts';

/** `/api/v1/me`: who the caller is, and the caller's own password. */
export function meRoutes({ users, authenticator, sessions }: RouteDeps['accounts']): readonly Route[] {
  return [
    { method: 'GET', path: '/api/v1/me', role: 'viewer', handler: show },
    { method: 'PUT', path: '/api/v1/me/password', role: 'viewer', handler: changePassword },
  ];

  async function show({ caller }: Exchange): Promise<Answer> {
    if (!caller) return jsonAnswer(null);
    const user = isUser(caller.via) ? await users.find(caller.name) : null;
    return jsonAnswer({ ...caller, passwordIsInitial: user?.passwordIsInitial ?? false });
  }

  /** Who walks up to a console that was left open does not know the old password. */
  async function changePassword(exchange: Exchange): Promise<Answer> {
    const { caller } = exchange;
    if (!caller || !isUser(caller.via)) {
      throw new HttpProblem('forbidden', 'Only a user who has logged in has a password to change.');
    }
    exchange.change = { target: `user:${caller.name}` };
    const { current, password } = readBody(exchange, newPasswordSchema);
    const known = await authenticator.byPassword(caller.name, current, exchange.source);
    if (!known) throw new HttpProblem('forbidden', 'The current password is another one.');
    await users.change(caller.name, { password });
    exchange.change = { target: `user:${caller.name}`, after: { passwordChanged: true } };
    const headers = caller.via === 'session' ? await cookieFor(exchange, sessions, caller.name) : [];
    return { status: 204, headers, body: null };
  }
}

function isUser(via: string): boolean {
  return via === 'password' || via === 'session';
}
