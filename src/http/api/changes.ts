/** Feeds of data changes, map servers that are followed, and deliveries (purges and notifications). */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { CHANGE_ACTIONS, type FeedStatus } from '../../changes/change-options.ts';
import { DELIVERY_KINDS, DELIVERY_STATES } from '../../changes/deliveries/delivery-store.ts';
import { readChange } from '../../changes/feeds/read-change.ts';
import { isSigned } from '../../changes/feeds/webhook-feed.ts';
import {
  CHANGING_ACTIONS,
  FOLLOWED_TYPES,
  PASS_ACTIONS,
  type PassReport,
} from '../../changes/follow/follow.ts';
import { shortened, TilewardenError } from '../../domain/errors.ts';
import { isoTime } from '../../lib/clock.ts';
import { mayView, requireLayerScope } from '../auth/layer-visibility.ts';
import { FORM } from '../auth/request-checks.ts';
import type { Context } from '../context.ts';
import { HttpProblem } from '../problems.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { NO_QUERY, readJson, readQuery } from './read-body.ts';
import { count, queryFlag, texts, time } from './values.ts';

export const changeFeedsResponse = z.object({
  changes: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      layers: texts.describe('Layers that the caller may see'),
      action: z.enum([...CHANGE_ACTIONS, 'list']).describe('list: the feed only lists the times of a layer'),
      state: z.enum(['ok', 'failing']),
      lastAt: time.nullable().describe('Of the latest accepted change'),
      lastError: z.string().nullable().describe('Viewers see no names of servers and accounts'),
      received: count,
      applied: count,
      pending: count,
    }),
  ),
});

export const recentChangesResponse = z.object({
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

export const replayResponse = z.object({ changes: count.describe('Changes that were applied again') });

export const changeAcceptedResponse = z.object({
  id: z.number().int(),
  repeated: z.boolean().describe('The event was accepted before; nothing was done'),
});

const BODY_TYPES = ['application/json', 'application/geo+json', FORM];
const EVENT_ID = /^[\x21-\x7e]([\x20-\x7e]{0,198}[\x21-\x7e])?$/;

export async function listFeeds({ caller }: Call, deps: ApiDeps) {
  return { changes: (await deps.changes.list()).flatMap((feed) => feedDocument(caller, feed, deps)) };
}

type OneNamed = Call<{ params: 'name' }>;

export async function listRecent(call: OneNamed, deps: ApiDeps) {
  const { caller } = call;
  const { name } = await feedIn(call, deps);
  const recent = await deps.changes.recent(name);
  // The boxes of a change cover all its layers, so the caller must be allowed to see all of them.
  const shown = recent.filter(({ layers }) => seenBy(caller, layers, deps).length === layers.length);
  return {
    changes: shown.map(({ id, at, merged, layers, boxes }) => ({
      id,
      at: isoTime(at),
      merged,
      layers,
      boxes,
    })),
  };
}

/** Changes tiles of all layers of the feed, so the caller must be allowed to work on each. */
export async function replayChanges(call: OneNamed, deps: ApiDeps) {
  const { name, layers } = await feedIn(call, deps);
  for (const layer of layers) requireLayerScope(call.context, layer);
  const count = (await deps.changes.replay(name)) ?? 0;
  const summary = `replayed ${count} ${count === 1 ? 'change' : 'changes'} of the last hour of ${name}`;
  call.note({ target: `feed:${name}`, summary, after: { merged: count, layers } });
  return { changes: count };
}

/** Throws as for an unknown feed if the caller may see none of its layers. */
async function feedIn({ caller, params }: OneNamed, deps: ApiDeps): Promise<FeedStatus> {
  const feed = (await deps.changes.list()).find(({ name }) => name === params.name);
  if (feed && seenBy(caller, feed.layers, deps).length > 0) return feed;
  throw new HttpProblem('path-unknown', 'There is no feed of that name.');
}

function feedDocument(caller: Caller, feed: FeedStatus, deps: ApiDeps): readonly object[] {
  const layers = seenBy(caller, feed.layers, deps);
  const lastError = caller.role === 'viewer' ? reasonForViewers(feed) : feed.lastError;
  return layers.length === 0 ? [] : [{ ...feed, layers, lastError, lastAt: isoTime(feed.lastAt) }];
}

/** For viewers: errors of a database or host contain names of servers, accounts and tables. */
function reasonForViewers({ state, lastError }: FeedStatus): string | null {
  if (lastError === null) return null;
  return state === 'failing'
    ? 'The feed cannot be read. Operators see the reason.'
    : 'A change could not be used. Operators see the reason.';
}

function seenBy(caller: Caller, layers: readonly string[], { catalog }: ApiDeps): readonly string[] {
  return layers.filter((name) => {
    const layer = catalog.layer(name)?.layer;
    return layer ? mayView(caller, layer) : caller.role === 'admin';
  });
}

/** Checks the signature first. Without one, the response does not reveal whether the feed exists. */
export async function acceptChange(
  { context, params: { name } }: OneNamed,
  { changes, accounts, clock }: ApiDeps,
) {
  const { source, body } = context;
  const feed = changes.webhook(name);
  const header = (headerName: string) => joinedHeader(context, headerName);
  if (!isSigned(feed?.secret ?? null, body, header, clock.now()) || !feed) {
    const target = `feed:${shortened(name)}`;
    await accounts.eventThrottle.begin(source, target);
    accounts.audit.note({
      phase: 'ended',
      action: 'change',
      target,
      source,
      outcome: 'refused',
      status: 401,
    });
    throw new HttpProblem(
      'credentials-needed',
      'X-Hub-Signature-256 must be sha256= and the HMAC-SHA-256 of the body in hexadecimal digits, or the headers of Standard Webhooks must sign it within 5 minutes.',
      ['WWW-Authenticate', 'X-Hub-Signature-256'],
    );
  }
  readQuery(context, NO_QUERY);
  const change = readChange(readJson(context, BODY_TYPES), feed.layers);
  return feed.take({ change, source, eventId: eventIdIn(context) });
}

/** With a digest of the body: `x-event-id` is not signed, so a captured body could use up the id of another event. */
function eventIdIn(context: Context): string | null {
  const isStandard = joinedHeader(context, 'webhook-signature') !== undefined;
  const name = isStandard ? 'webhook-id' : 'x-event-id';
  const id = joinedHeader(context, name);
  if (id === undefined) return null;
  if (EVENT_ID.test(id)) return `${id} ${createHash('sha256').update(context.body).digest('base64url')}`;
  throw new HttpProblem('header-invalid', `${name} must have 1 to 200 printable ASCII characters.`);
}

function joinedHeader({ headers }: Context, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

export const followListResponse = z.object({
  follow: z.array(
    z.object({
      name: z.string(),
      type: z.enum(FOLLOWED_TYPES),
      state: z.enum(['ok', 'failing']),
      lastAt: time.nullable().describe('Time of the latest successful pass'),
      lastError: z.string().nullable(),
      layers: count.describe('Layers that are declared by it'),
      pending: count.describe('Layers that are new, missed or gone, and were only reported'),
    }),
  ),
});

export const passResponse = z.object({
  at: time,
  counts: z.record(z.enum(PASS_ACTIONS), count),
  entries: z
    .array(
      z.object({
        layer: z.string(),
        action: z.enum(PASS_ACTIONS),
        detail: z.string().nullable().describe('Changed fields, or a reason'),
      }),
    )
    .describe('At most 1,000; counts has the totals'),
});

export const passListResponse = z.object({ passes: z.array(passResponse) });

export const runQuery = z.strictObject({
  dryRun: queryFlag.default(false).describe('Only report what a pass would do'),
});

export async function listFollow(_: Call, { follow }: ApiDeps) {
  const all = await follow.list();
  return { follow: all.map((one) => ({ ...one, lastAt: isoTime(one.lastAt) })) };
}

export async function listPasses({ params: { name } }: OneNamed, { follow }: ApiDeps) {
  if (!(await follow.list()).some((one) => one.name === name)) throw unknown(name);
  return { passes: (await follow.passes(name)).map(passDocument) };
}

export async function runFollow(
  { params: { name }, query, context, note }: Call<{ params: 'name'; query: typeof runQuery }>,
  { follow }: ApiDeps,
) {
  const report = await follow.run(name, query.dryRun, context.signal).catch((error: unknown) => {
    if (!(error instanceof Error) || context.signal.aborted) throw error;
    throw new TilewardenError('source-unavailable', error.message, { cause: error });
  });
  if (!report) throw unknown(name);
  const changes = CHANGING_ACTIONS.reduce((sum, action) => sum + report.counts[action], 0);
  note({ target: `follow:${name}`, summary: `ran a pass of ${name}`, after: { changes } });
  return passDocument(report);
}

function passDocument({ at, ...report }: PassReport) {
  return { at: isoTime(at), ...report };
}

function unknown(name: string): TilewardenError {
  return new TilewardenError('entry-unknown', `There is no follow ${shortened(name)}.`);
}

const kind = z.enum(DELIVERY_KINDS);

export const deliveryListResponse = z.object({
  deliveries: z.array(
    z.object({
      id: z.string(),
      name: z.string().describe('Name of the target in the configuration file'),
      kind,
      event: z.string().nullable().describe('What a pending notification reports, e.g. task-failed'),
      state: z.enum(DELIVERY_STATES).describe('pending: not delivered yet, and retried for 24 hours'),
      attempts: count,
      lastError: z.string().nullable(),
      at: time,
    }),
  ),
  targets: z
    .array(
      z.object({
        name: z.string(),
        kind,
        host: z.string().describe('Of its address'),
        events: texts.nullable().describe('Events of a notification target; null: a purge target'),
        state: z
          .enum(['ok', 'failing'])
          .describe('failing: a delivery waits for a retry, or the last one failed for good'),
        pending: count,
        lastDeliveredAt: time.nullable(),
        lastError: z.string().nullable().describe('While it is failing'),
      }),
    )
    .describe('Targets in the configuration file'),
});

export const testResponse = z.object({
  delivered: z.boolean(),
  error: z.string().nullable().describe('Why the target did not accept it; null: accepted'),
  ms: count,
});

export async function listDeliveries(_: Call, { deliveries }: ApiDeps) {
  return { deliveries: await deliveries.list(), targets: await deliveries.targets() };
}

/** Sends a notification with the event `test`, or a purge of a key that no tile has. */
export async function sendTest(
  { context, params, note }: Call<{ params: 'kind' | 'name' }>,
  { deliveries }: ApiDeps,
) {
  const { name } = params;
  const target = DELIVERY_KINDS.find((one) => one === params.kind);
  const result = target ? await deliveries.sendTest({ kind: target, name }, context.signal) : null;
  if (!target || !result) {
    throw new HttpProblem('path-unknown', 'There is no such target; GET /api/v1/deliveries lists them.');
  }
  const { error, ms } = result;
  const delivered = error === null;
  const summary = `sent a test ${target} to ${name}, which ${delivered ? 'accepted it' : 'failed'}`;
  note({ target: `delivery:${name}`, summary, after: { kind: target, delivered } });
  return { delivered, error, ms };
}
