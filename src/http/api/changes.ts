import { z } from 'zod';
import { CHANGE_ACTIONS, type FeedStatus } from '../../changes/change.ts';
import { readChange } from '../../changes/feeds/read-change.ts';
import { isoTime } from '../../lib/clock.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { refuseForeignLayer } from '../door/gate.ts';
import { mayLookAt } from '../door/layer-visibility.ts';
import { FORM } from '../door/request-body.ts';
import type { Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { NO_QUERY, readJson, readQuery } from '../wire/read-body.ts';
import { count, texts, time } from '../wire/values.ts';

export const changeFeedsAnswer = z.object({
  changes: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      layers: texts.describe('Those that the caller may see'),
      action: z.enum(CHANGE_ACTIONS),
      state: z.enum(['ok', 'failing']),
      lastAt: time.nullable().describe('Of the latest accepted change'),
      lastError: z.string().nullable(),
      received: count,
      applied: count,
      pending: count,
    }),
  ),
});

export const recentChangesAnswer = z.object({
  changes: z.array(
    z.object({
      id: z.number().int(),
      at: time,
      merged: count.describe('Changes that were applied together'),
      layers: texts,
      boxes: z
        .array(z.array(z.number()))
        .nullable()
        .describe('minX, minY, maxX, maxY in EPSG:4326; null: everywhere'),
    }),
  ),
});

export const replayAnswer = z.object({ changes: count.describe('Changes that were applied again') });

export const changeAcceptedAnswer = z.object({
  id: z.number().int(),
  repeated: z.boolean().describe('The event was accepted before; nothing was done'),
});

const BODY_TYPES = ['application/json', 'application/geo+json', FORM];
const EVENT_ID = /^[\x21-\x7e]([\x20-\x7e]{0,198}[\x21-\x7e])?$/;

/** `/api/v1/changes`: feeds of data changes, and what webhooks report. */
export function changeRoutes({ catalog, changes, accounts }: RouteDeps): readonly Route[] {
  const path = '/api/v1/changes';
  return [
    { method: 'GET', path, role: 'viewer', handler: list },
    { method: 'GET', path: `${path}/{name}/recent`, role: 'viewer', handler: listRecent },
    { method: 'POST', path: `${path}/{name}/replay`, role: 'operator', handler: replay },
    { method: 'POST', path: `${path}/{name}`, role: 'public', handler: take },
  ];

  async function list(exchange: Exchange): Promise<Answer> {
    readQuery(exchange, NO_QUERY);
    const shown = (await changes.list()).flatMap((feed) => feedDocument(exchange, feed));
    return jsonAnswer({ changes: shown });
  }

  /** Feeds of which the caller sees no layer are as if they were absent. */
  async function listRecent(exchange: Exchange): Promise<Answer> {
    const feed = await feedIn(exchange);
    const recent = await changes.recent(feed.name);
    // The boxes are those of all its layers together.
    const shown = recent.filter(({ layers }) => seenBy(exchange, layers).length === layers.length);
    return jsonAnswer({
      changes: shown.map(({ id, at, merged, layers, boxes }) => ({
        id,
        at: isoTime(at),
        merged,
        layers,
        boxes,
      })),
    });
  }

  /** Its changes concern all its layers. */
  async function replay(exchange: Exchange): Promise<Answer> {
    const { name, layers } = await feedIn(exchange);
    for (const layer of layers) refuseForeignLayer(exchange.caller, layer);
    const count = (await changes.replay(name)) ?? 0;
    const summary = `replayed ${count} ${count === 1 ? 'change' : 'changes'} of the last hour of ${name}`;
    exchange.change = { target: `feed:${name}`, summary, after: { merged: count, layers } };
    return jsonAnswer({ changes: count });
  }

  async function feedIn(exchange: Exchange): Promise<FeedStatus> {
    readQuery(exchange, NO_QUERY);
    const feed = (await changes.list()).find(({ name }) => name === exchange.param('name'));
    if (feed && seenBy(exchange, feed.layers).length > 0) return feed;
    throw new HttpProblem('path-unknown', 'There is no feed of that name.');
  }

  function feedDocument(exchange: Exchange, feed: FeedStatus): readonly object[] {
    const layers = seenBy(exchange, feed.layers);
    return layers.length === 0 ? [] : [{ ...feed, layers, lastAt: isoTime(feed.lastAt) }];
  }

  function seenBy({ caller }: Exchange, layers: readonly string[]): readonly string[] {
    return layers.filter((name) => {
      const layer = catalog.layer(name)?.layer;
      return caller && (layer ? mayLookAt(caller, layer) : caller.role === 'admin');
    });
  }

  async function take(exchange: Exchange): Promise<Answer> {
    const { source, headers, body } = exchange;
    const name = exchange.param('name');
    const feed = changes.webhook(name);
    if (!feed) throw new HttpProblem('path-unknown', 'There is no webhook of that name.');
    if (!feed.isSigned(body, headerIn(exchange, 'x-hub-signature-256'))) {
      accounts.throttle.begin(source, `feed:${name}`);
      throw new HttpProblem(
        'credentials-needed',
        'X-Hub-Signature-256 must be sha256= and the HMAC-SHA-256 of the body in hexadecimal digits.',
        ['WWW-Authenticate', 'X-Hub-Signature-256'],
      );
    }
    readQuery(exchange, NO_QUERY);
    const change = readChange(readJson({ headers, body }, BODY_TYPES), feed.layers);
    const taken = await feed.take({ change, source, eventId: eventIdIn(exchange) });
    return jsonAnswer(taken, [], 202);
  }
}

function eventIdIn(exchange: Exchange): string | null {
  const id = headerIn(exchange, 'x-event-id');
  if (id === undefined) return null;
  if (EVENT_ID.test(id)) return id;
  throw new HttpProblem('header-invalid', 'X-Event-Id must have 1 to 200 printable ASCII characters.');
}

function headerIn({ headers }: Exchange, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}
