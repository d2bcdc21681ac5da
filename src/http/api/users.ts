import type { AccountDesk } from '../../access/account-desk.ts';
import type { User } from '../../access/user.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import { readBody } from '../wire/read-body.ts';
import { userChangesSchema, userSchema } from './account-schemas.ts';

export const NOTHING: Answer = { status: 204, headers: [], body: null };

/** `/api/v1/users` and what lies below it. */
export function userRoutes(users: AccountDesk): readonly Route[] {
  const path = '/api/v1/users';
  const one = `${path}/{name}`;
  return [
    { method: 'GET', path, role: 'admin', handler: list },
    { method: 'POST', path, role: 'admin', handler: add },
    { method: 'GET', path: one, role: 'admin', handler: show },
    { method: 'PUT', path: one, role: 'admin', handler: change },
    { method: 'DELETE', path: one, role: 'admin', handler: remove },
  ];

  async function list(): Promise<Answer> {
    return jsonAnswer({ users: (await users.list()).map(userDocument) });
  }

  async function show(exchange: Exchange): Promise<Answer> {
    const user = await users.find(exchange.param('name'));
    if (user) return jsonAnswer(userDocument(user));
    throw new TilewardenError('account-unknown', 'There is no such user.');
  }

  async function add(exchange: Exchange): Promise<Answer> {
    const draft = readBody(exchange, userSchema);
    exchange.change = { target: `user:${draft.name}` };
    const user = await users.add(draft);
    exchange.change = { target: `user:${user.name}`, after: rightsOf(user) };
    const location = `${exchange.baseUrl}${path}/${encodeURIComponent(user.name)}`;
    return jsonAnswer(userDocument(user), ['Location', location], 201);
  }

  async function change(exchange: Exchange): Promise<Answer> {
    const name = exchange.param('name');
    exchange.change = { target: `user:${name}` };
    const changes = readBody(exchange, userChangesSchema);
    const { before, after } = await users.change(name, changes);
    const passwordChanged = changes.password !== undefined;
    exchange.change = {
      target: `user:${name}`,
      before: rightsOf(before),
      after: { ...rightsOf(after), passwordChanged },
    };
    return jsonAnswer(userDocument(after));
  }

  async function remove(exchange: Exchange): Promise<Answer> {
    const name = exchange.param('name');
    exchange.change = { target: `user:${name}` };
    exchange.change = { target: `user:${name}`, before: rightsOf(await users.remove(name)) };
    return NOTHING;
  }
}

function rightsOf({ role, layers }: User): object {
  return { role, layers };
}

function userDocument({ name, role, layers, passwordIsInitial, createdAt, changedAt }: User): object {
  return {
    name,
    role,
    layers,
    passwordIsInitial,
    createdAt: isoTime(createdAt),
    changedAt: isoTime(changedAt),
  };
}
