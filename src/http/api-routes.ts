import { z } from 'zod';
import { changeBody } from '../changes/feeds/read-change.ts';
import * as accounts from './api/accounts.ts';
import * as audit from './api/audit.ts';
import * as catalog from './api/catalog-changes.ts';
import * as changes from './api/changes.ts';
import * as deliveries from './api/deliveries.ts';
import { seriesAnswer } from './api/series.ts';
import * as session from './api/session.ts';
import * as status from './api/status.ts';
import { route } from './api-route.ts';
import { NO_QUERY } from './wire/read-body.ts';

/** Our own interface. Of two patterns that fit a path the upper one counts. */
// biome-ignore format: a table
export const API_ROUTES = [
  route('GET /api/v1/changes', 'viewer', 'List the feeds of data changes', { query: NO_QUERY, answer: changes.changeFeedsAnswer }, changes.listFeeds),
  route('GET /api/v1/changes/{name}/recent', 'viewer', 'List the changes that a feed reported in the last hour, newest first, at most 500',
    { query: NO_QUERY, answer: changes.recentChangesAnswer }, changes.listRecent),
  route('POST /api/v1/changes/{name}', 'public', 'Report a data change, signed with the secret of the feed (X-Hub-Signature-256)',
    { body: changeBody, bodyTypes: ['application/json', 'application/geo+json'], raw: true, answer: changes.changeAcceptedAnswer, status: 202 }, changes.acceptChange),
  route('GET /api/v1/deliveries', 'operator', 'List purges and notifications, newest first', { query: NO_QUERY, answer: deliveries.deliveryListAnswer }, deliveries.listDeliveries),

  route('GET /api/v1/upstreams', 'viewer', 'State of each upstream host', { answer: status.upstreamsAnswer }, status.listUpstreams),
  route('GET /api/v1/series', 'viewer', 'Tile requests of the last 24 hours, per minute', { answer: seriesAnswer }, status.showSeries),
  route('GET /api/v1/about', 'viewer', 'Show version and start time', { answer: status.aboutAnswer }, status.showAbout),
  route('GET /api/v1/nodes', 'viewer', 'Servers and workers on the same database; those seen in the last hour', { answer: status.nodeListAnswer }, status.listNodes),

  route('POST /api/v1/session', 'public', 'Log in', { body: session.loginBody, answer: accounts.sessionAnswer }, session.logIn),
  route('DELETE /api/v1/session', 'viewer', 'Log out', { status: 204 }, session.logOut),
  route('GET /session.json', 'public', 'Show the caller, or null, to pages', { answerType: 'application/json' }, session.showSession),
  route('GET /api/v1/me', 'viewer', 'Show the caller', { answer: accounts.callerAnswer }, session.showCaller),
  route('PUT /api/v1/me/password', 'viewer', "Change one's own password",
    { body: session.newPasswordBody, status: 204, target: 'user:{caller}' }, session.changePassword),

  route('GET /api/v1/users', 'admin', 'List users', { answer: z.object({ users: z.array(accounts.userAnswer) }) }, accounts.listUsers),
  route('POST /api/v1/users', 'admin', 'Add a user', { body: accounts.userBody, answer: accounts.userAnswer, status: 201 }, accounts.addUser),
  route('GET /api/v1/users/{name}', 'admin', 'Show a user', { answer: accounts.userAnswer }, accounts.showUser),
  route('PUT /api/v1/users/{name}', 'admin', 'Change a user',
    { body: accounts.userChangesBody, answer: accounts.userAnswer, target: 'user:{name}' }, accounts.changeUser),
  route('DELETE /api/v1/users/{name}', 'admin', 'Remove a user', { status: 204, target: 'user:{name}' }, accounts.removeUser),
  route('GET /api/v1/tokens', 'admin', 'List tokens', { answer: z.object({ tokens: z.array(accounts.tokenAnswer) }) }, accounts.listTokens),
  route('POST /api/v1/tokens', 'admin', 'Create a token; it is shown only once',
    { body: accounts.tokenBody, answer: accounts.tokenAnswer.extend({ token: z.string() }), status: 201 }, accounts.createToken),
  route('DELETE /api/v1/tokens/{id}', 'admin', 'Revoke a token', { status: 204, target: 'token:{id}' }, accounts.revokeToken),
  route('GET /api/v1/keys', 'admin', 'List keys for readers', { answer: z.object({ keys: z.array(accounts.keyAnswer) }) }, accounts.listKeys),
  route('POST /api/v1/keys', 'admin', 'Create a key for readers; it is shown only once',
    { body: accounts.keyBody, answer: accounts.keyAnswer.extend({ key: z.string() }), status: 201 }, accounts.createKey),
  route('DELETE /api/v1/keys/{id}', 'admin', 'Delete a key for readers', { status: 204, target: 'key:{id}' }, accounts.removeKey),

  route('GET /api/v1/audit', 'admin', 'Query the audit log', { query: audit.auditQuery, answer: audit.auditAnswer }, audit.listAudit),
  route('POST /api/v1/audit/{id}/restore', 'admin', 'Declare a layer again as it was before a change in the audit log',
    { answer: catalog.declarationAnswer }, audit.restoreLayer),
] as const;

type Api = (typeof API_ROUTES)[number];
type Named<Name extends Api['name']> = Extract<Api, { readonly name: Name }>['shape'];
type AnswerOf<Described> = Described extends { readonly answer: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : never;
type BodyOf<Described> = Described extends { readonly body: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : never;

/** E.g. `GET /api/v1/tasks`. The console takes its types from here. */
export type ApiRequest = Api['name'];
export type ApiAnswer<Request extends ApiRequest> = AnswerOf<Named<Request>>;
export type ApiBody<Request extends ApiRequest> = BodyOf<Named<Request>>;
