import { z } from 'zod';
import { ROLES, WAYS_IN } from '../../access/caller.ts';
import type { ReaderKey } from '../../access/reader-key.ts';
import type { ApiToken } from '../../access/token-store.ts';
import type { User } from '../../access/user.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import { type Answer, jsonAnswer, NOTHING } from '../answer.ts';
import { createdAnswer, type Exchange, idIn } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { readBody } from '../wire/read-body.ts';
import { count, texts, time } from '../wire/values.ts';

const role = z.enum(ROLES);
const rights = { name: z.string(), role, layers: texts };
const newRights = { name: z.string(), role, layers: texts.default(['*']) };

export const userBody = z.strictObject({ ...newRights, password: z.string() });
export const userChangesBody = z
  .strictObject({ password: z.string(), role, layers: texts })
  .partial()
  .refine((changes) => Object.keys(changes).length > 0, 'must have a password, role or layers');
export const userAnswer = z.object({
  ...rights,
  passwordIsInitial: z.boolean(),
  createdAt: time,
  changedAt: time,
});

export const tokenBody = z.strictObject({
  ...newRights,
  /** Null or absent: it does not expire. */
  expiresAt: z.iso.datetime({ offset: true }).nullable().default(null),
});
export const tokenAnswer = z.object({
  id: z.number().int(),
  ...rights,
  createdBy: z.string(),
  createdAt: time,
  expiresAt: time.nullable(),
  lastUsedAt: time.nullable(),
});

const limit = z.number().nullable().default(null);
export const keyBody = z.strictObject({
  name: z.string(),
  layers: texts,
  origins: texts.nullable().default(null),
  ratePerSecond: limit,
  requestsPerDay: limit,
  expiresAt: z.iso.datetime({ offset: true }).nullable().default(null),
});
export const keyAnswer = z.object({
  id: z.number().int(),
  name: z.string(),
  layers: texts,
  origins: texts.nullable(),
  ratePerSecond: z.number().nullable(),
  requestsPerDay: z.number().nullable(),
  requestsToday: count.describe('Since midnight UTC, to the minute'),
  expiresAt: time.nullable(),
  createdAt: time,
  lastUsedAt: time.nullable(),
});

export const sessionAnswer = z.object(rights);
export const callerAnswer = z.object({
  ...rights,
  via: z.enum(WAYS_IN),
  passwordIsInitial: z.boolean(),
});

/** `/api/v1/users` and what lies below it. */
export function userRoutes({ accounts: { users } }: RouteDeps): readonly Route[] {
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
    const draft = readBody(exchange, userBody);
    exchange.change = { target: `user:${draft.name}` };
    const user = await users.add(draft);
    exchange.change = { target: `user:${user.name}`, after: rightsOf(user) };
    return createdAnswer(exchange, `${path}/${encodeURIComponent(user.name)}`, userDocument(user));
  }

  async function change(exchange: Exchange): Promise<Answer> {
    const target = `user:${exchange.param('name')}`;
    exchange.change = { target };
    const changes = readBody(exchange, userChangesBody);
    const { before, after } = await users.change(exchange.param('name'), changes);
    const passwordChanged = changes.password !== undefined;
    exchange.change = { target, before: rightsOf(before), after: { ...rightsOf(after), passwordChanged } };
    return jsonAnswer(userDocument(after));
  }

  async function remove(exchange: Exchange): Promise<Answer> {
    const target = `user:${exchange.param('name')}`;
    exchange.change = { target };
    exchange.change = { target, before: rightsOf(await users.remove(exchange.param('name'))) };
    return NOTHING;
  }
}

function rightsOf({ role, layers }: User): object {
  return { role, layers };
}

function userDocument({ name, role, layers, passwordIsInitial, createdAt, changedAt }: User): object {
  const times = { createdAt: isoTime(createdAt), changedAt: isoTime(changedAt) };
  return { name, role, layers, passwordIsInitial, ...times };
}

/** `/api/v1/tokens` and what lies below it. */
export function tokenRoutes({ accounts: { tokens } }: RouteDeps): readonly Route[] {
  const path = '/api/v1/tokens';
  return [
    { method: 'GET', path, role: 'admin', handler: list },
    { method: 'POST', path, role: 'admin', handler: create },
    { method: 'DELETE', path: `${path}/{id}`, role: 'admin', handler: revoke },
  ];

  async function list(): Promise<Answer> {
    return jsonAnswer({ tokens: (await tokens.list()).map(tokenDocument) });
  }

  /** The one time that the token is shown. */
  async function create(exchange: Exchange): Promise<Answer> {
    const draft = readBody(exchange, tokenBody);
    const expiresAt = draft.expiresAt === null ? null : Date.parse(draft.expiresAt);
    const { token, secret } = await tokens.create({ ...draft, expiresAt }, makerOf(exchange));
    exchange.change = { target: `token:${token.id}`, after: tokenDocument(token) };
    return createdAnswer(exchange, `${path}/${token.id}`, { ...tokenDocument(token), token: secret });
  }

  async function revoke(exchange: Exchange): Promise<Answer> {
    const target = `token:${exchange.param('id')}`;
    exchange.change = { target };
    exchange.change = { target, before: tokenDocument(await tokens.revoke(idIn(exchange))) };
    return NOTHING;
  }
}

/** `/api/v1/keys` and below: keys for readers. */
export function keyRoutes({ accounts: { readerKeys } }: RouteDeps): readonly Route[] {
  const path = '/api/v1/keys';
  return [
    { method: 'GET', path, role: 'admin', handler: list },
    { method: 'POST', path, role: 'admin', handler: create },
    { method: 'DELETE', path: `${path}/{id}`, role: 'admin', handler: remove },
  ];

  async function list(): Promise<Answer> {
    return jsonAnswer({ keys: (await readerKeys.list()).map(keyDocument) });
  }

  /** The one time that the key is shown. */
  async function create(exchange: Exchange): Promise<Answer> {
    const draft = readBody(exchange, keyBody);
    const expiresAt = draft.expiresAt === null ? null : Date.parse(draft.expiresAt);
    const { key, secret } = await readerKeys.create({ ...draft, expiresAt }, makerOf(exchange));
    exchange.change = { target: `key:${key.id}`, after: keyDocument(key) };
    return createdAnswer(exchange, `${path}/${key.id}`, { ...keyDocument(key), key: secret });
  }

  async function remove(exchange: Exchange): Promise<Answer> {
    const target = `key:${exchange.param('id')}`;
    exchange.change = { target };
    exchange.change = { target, before: keyDocument(await readerKeys.remove(idIn(exchange))) };
    return NOTHING;
  }
}

function keyDocument({ createdAt, expiresAt, lastUsedAt, ...key }: ReaderKey): object {
  const times = { createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) };
  return { ...key, ...times, lastUsedAt: isoTime(lastUsedAt) };
}

/** A token that was made by means of another belongs to the same user, and goes when that one goes. */
function makerOf({ caller }: Exchange): string {
  // Not the name alone: it may be that of a user of ours, and what is made is not theirs.
  if (caller?.account !== undefined) return `${caller.via}:${caller.name}`;
  return caller?.owner ?? caller?.name ?? '';
}

function tokenDocument({ createdAt, expiresAt, lastUsedAt, ...token }: ApiToken): object {
  const times = { createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) };
  return { ...token, ...times, lastUsedAt: isoTime(lastUsedAt) };
}
