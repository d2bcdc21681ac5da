import type { ApiToken, TokenStore } from '../../access/token-store.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import { readBody } from '../wire/read-body.ts';
import { tokenSchema } from './account-schemas.ts';
import { NOTHING } from './users.ts';

/** `/api/v1/tokens` and what lies below it. */
export function tokenRoutes(tokens: TokenStore): readonly Route[] {
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
    const draft = readBody(exchange, tokenSchema);
    const expiresAt = draft.expiresAt === null ? null : Date.parse(draft.expiresAt);
    const { token, secret } = await tokens.create({ ...draft, expiresAt }, makerOf(exchange));
    exchange.change = { target: `token:${token.id}`, after: tokenDocument(token) };
    const location = `${exchange.baseUrl}${path}/${token.id}`;
    return jsonAnswer({ ...tokenDocument(token), token: secret }, ['Location', location], 201);
  }

  async function revoke(exchange: Exchange): Promise<Answer> {
    const id = idOf(exchange.param('id'));
    exchange.change = { target: `token:${id}` };
    exchange.change = { target: `token:${id}`, before: tokenDocument(await tokens.revoke(id)) };
    return NOTHING;
  }
}

/** A token that was made by means of another belongs to the same user, and goes when that one goes. */
function makerOf({ caller }: Exchange): string {
  return caller?.owner ?? caller?.name ?? '';
}

function idOf(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new TilewardenError('account-unknown', 'There is no such token.');
}

function tokenDocument({ createdAt, expiresAt, lastUsedAt, ...token }: ApiToken): object {
  return {
    ...token,
    createdAt: isoTime(createdAt),
    expiresAt: isoTime(expiresAt),
    lastUsedAt: isoTime(lastUsedAt),
  };
}
