import { z } from 'zod';
import { changeBody } from '../../changes/feeds/read-change.ts';
import * as accounts from './accounts.ts';
import { route } from './api-route.ts';
import * as areas from './areas.ts';
import * as audit from './audit.ts';
import * as catalog from './catalog-changes.ts';
import * as changes from './changes.ts';
import * as coverage from './coverage.ts';
import * as exports from './exports.ts';
import * as gridSets from './grid-sets.ts';
import * as imports from './imports.ts';
import * as inspect from './inspect.ts';
import * as layers from './layers.ts';
import { showOpenApi } from './openapi.ts';
import * as quota from './quota.ts';
import * as schedules from './schedules.ts';
import { seriesResponse } from './series.ts';
import * as session from './session.ts';
import * as status from './status.ts';
import { taskBody, taskListResponse, taskResponse } from './task-document.ts';
import { REPEATABLE, stopBody, stopResponse, stopTasks, taskListQuery } from './task-filter.ts';
import * as tasks from './tasks.ts';
import * as selection from './tile-selection.ts';

const declaring = {
  query: catalog.changeQuery,
  body: catalog.declarationBody,
  answer: catalog.declarationResponse,
};

/** Request, least role, summary, shape (see `api-route.ts`), handler. If two patterns match a path, the first counts. */
// biome-ignore format: a table
export const API_ROUTES = [
  route('GET /api/v1/tasks', 'viewer', 'List tasks, newest first', { query: taskListQuery, repeatable: REPEATABLE, answer: taskListResponse }, tasks.listTasks),
  route('POST /api/v1/tasks', 'operator', 'Start a task, or with dryRun estimate it',
    { body: taskBody, answer: z.union([taskResponse, tasks.estimateResponse]), status: 201 }, tasks.createTask),
  route('POST /api/v1/tasks/stop', 'operator', 'Stop the tasks that a filter describes, or with dryRun count them', { body: stopBody, answer: stopResponse }, stopTasks),
  route('GET /api/v1/tasks/{id}', 'viewer', 'Show a task', { answer: taskResponse }, tasks.showTask),
  route('POST /api/v1/tasks/{id}/cancel', 'operator', 'Stop a task', { answer: taskResponse }, tasks.cancelTask),
  route('POST /api/v1/tasks/{id}/pause', 'operator', 'Pause a task', { answer: taskResponse }, tasks.pauseTask),
  route('POST /api/v1/tasks/{id}/resume', 'operator', 'Resume a task', { answer: taskResponse }, tasks.resumeTask),
  route('POST /api/v1/tasks/{id}/retry', 'operator', 'Retry what failed in a task, as a new task', { answer: taskResponse, status: 201 }, tasks.retryTask),
  route('POST /api/v1/tile-addresses', 'operator', 'Find the pages that tile addresses of an access log are in',
    { body: inspect.tileAddressesBody, answer: inspect.tileAddressesResponse, asksOnly: true }, inspect.findTiles),
  route('GET /api/v1/events', 'viewer', 'Stream changes of tasks', { query: tasks.eventsQuery, answerType: 'text/event-stream' }, tasks.streamEvents),

  route('GET /api/v1/schedules', 'viewer', 'List schedules',
    { query: schedules.scheduleListQuery, answer: schedules.scheduleListResponse }, schedules.listSchedules),
  route('POST /api/v1/schedules', 'operator', 'Create a schedule, or with dryRun list its next runs',
    { query: schedules.scheduleQuery, body: schedules.scheduleBody, answer: z.union([schedules.scheduleResponse, schedules.previewResponse]), status: 201 }, schedules.createSchedule),
  route('GET /api/v1/schedules/{id}', 'viewer', 'Show a schedule', { answer: schedules.scheduleResponse }, schedules.showSchedule),
  route('PUT /api/v1/schedules/{id}', 'operator', 'Replace a schedule', { body: schedules.scheduleBody, answer: schedules.scheduleResponse }, schedules.replaceSchedule),
  route('DELETE /api/v1/schedules/{id}', 'operator', 'Remove a schedule', { status: 204 }, schedules.removeSchedule),
  route('GET /api/v1/schedules/{id}/runs', 'viewer', 'List the runs of a schedule', { answer: schedules.runListResponse }, schedules.listRuns),
  route('POST /api/v1/schedules/{id}/run', 'operator', 'Run a schedule now', { answer: schedules.runResponse }, schedules.runSchedule),

  route('GET /api/v1/changes', 'viewer', 'List the feeds of data changes', { answer: changes.changeFeedsResponse }, changes.listFeeds),
  route('GET /api/v1/changes/{name}/recent', 'viewer', 'List the changes that a feed reported in the last hour, newest first, at most 500',
    { answer: changes.recentChangesResponse }, changes.listRecent),
  route('POST /api/v1/changes/{name}/replay', 'operator', 'Apply the changes that a feed reported in the last hour again',
    { answer: changes.replayResponse }, changes.replayChanges),
  route('POST /api/v1/changes/{name}', 'public', 'Report a data change, signed with the secret of the feed (X-Hub-Signature-256)',
    { body: changeBody, bodyTypes: ['application/json', 'application/geo+json'], raw: true, answer: changes.changeAcceptedResponse, status: 202 }, changes.acceptChange),
  route('GET /api/v1/follow', 'operator', 'List the map servers whose layers are followed', { answer: changes.followListResponse }, changes.listFollow),
  route('GET /api/v1/follow/{name}/passes', 'admin', 'List the latest passes that changed something, newest first', { answer: changes.passListResponse }, changes.listPasses),
  route('POST /api/v1/follow/{name}/run', 'admin', 'Make a pass now, or with dryRun report what it would do', { query: changes.runQuery, answer: changes.passResponse }, changes.runFollow),
  route('GET /api/v1/deliveries', 'operator', 'List purges and notifications, newest first, and their targets', { answer: changes.deliveryListResponse }, changes.listDeliveries),
  route('POST /api/v1/deliveries/{kind}/{name}/test', 'operator', 'Send a harmless test to a purge or notification target now',
    { answer: changes.testResponse }, changes.sendTest),

  route('GET /api/v1/layers', 'viewer', 'List layers', { answer: layers.layerListResponse }, layers.listLayers),
  route('POST /api/v1/layers', 'admin', 'Declare a layer', { ...declaring, status: 201 }, (call, deps) => catalog.create(call, 'layer', deps)),
  route('GET /api/v1/layers/{layer}', 'viewer', 'Show a layer', { answer: layers.layerResponse }, layers.showLayer),
  route('PUT /api/v1/layers/{layer}', 'admin', 'Declare a layer, or replace its declaration', declaring,
    (call, deps) => catalog.put(call, 'layer', call.params.layer, deps)),
  route('DELETE /api/v1/layers/{layer}', 'admin', 'Remove a layer that was declared over this interface, and its tiles', { query: catalog.dryRunQuery, answer: catalog.removalResponse, status: 204 },
    (call, deps) => catalog.remove(call, 'layer', call.params.layer, deps)),
  route('GET /api/v1/layers/{layer}/times', 'viewer', 'List the latest times of a layer', { query: layers.timesQuery, answer: layers.timesResponse }, layers.listTimes),
  route('GET /api/v1/layers/{layer}/clients/{gridSet}', 'viewer', 'Addresses and code for map clients that show a layer',
    { query: coverage.tileSetQuery, answer: layers.clientListResponse }, layers.listClients),
  route('GET /api/v1/layers/{layer}/coverage/{gridSet}', 'viewer', 'How much of a layer is cached, zoom by zoom',
    { query: coverage.zoomCoverageQuery, answer: coverage.zoomCoverageResponse }, coverage.showZooms),
  route('GET /api/v1/layers/{layer}/coverage/{gridSet}/{z}', 'viewer', 'Where a layer is cached at a zoom, and how old it is there',
    { query: coverage.coverageQuery, answer: coverage.coverageResponse }, coverage.showPlaces),
  route('GET /api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}', 'viewer', 'Inspect a tile', { query: coverage.tileSetQuery, answer: inspect.tileResponse }, inspect.inspectTile),
  route('GET /api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}/content', 'viewer', 'The tile as it is stored; a missing one is not made',
    { query: coverage.tileSetQuery, answerType: 'image/*' }, inspect.showContent),
  route('POST /api/v1/layers/{layer}/truncate', 'operator', 'Remove a selection of tiles, or with dryRun count it',
    { body: selection.truncateBody, answer: selection.truncateResponse }, selection.truncate),
  route('POST /api/v1/layers/{layer}/invalidate', 'operator', 'Mark a selection of tiles as stale, or with dryRun count it',
    { query: selection.invalidateQuery, body: selection.invalidateBody, plainBody: 'Tiles as lines of z/x/y in web mercator, rows from the top', raw: true, answer: selection.invalidateResponse },
    selection.invalidate),

  route('GET /api/v1/areas', 'viewer', 'List the areas of the configuration file', { answer: areas.areaListResponse }, areas.listAreas),
  route('GET /api/v1/areas/{name}', 'viewer', 'Show the shape of an area', { answer: areas.areaResponse }, areas.showArea),

  route('GET /api/v1/gridsets', 'viewer', 'List the grid sets that layers use, and those that do not come with the program', { answer: gridSets.gridSetListResponse }, gridSets.listGridSets),
  route('POST /api/v1/gridsets', 'admin', 'Declare a grid set', { ...declaring, status: 201 }, (call, deps) => catalog.create(call, 'grid-set', deps)),
  route('GET /api/v1/gridsets/{gridSet}', 'viewer', 'Show a grid set', { answer: gridSets.gridSetResponse }, gridSets.showGridSet),
  route('PUT /api/v1/gridsets/{gridSet}', 'admin', 'Declare a grid set, or replace it', declaring,
    (call, deps) => catalog.put(call, 'grid-set', call.params.gridSet, deps)),
  route('DELETE /api/v1/gridsets/{gridSet}', 'admin', 'Remove a grid set that no layer uses', { query: catalog.dryRunQuery, status: 204 },
    (call, deps) => catalog.remove(call, 'grid-set', call.params.gridSet, deps)),

  route('GET /api/v1/gridset-proposals', 'viewer', 'Propose grid sets for a CRS and an extent',
    { query: gridSets.proposalsQuery, answer: gridSets.proposalsResponse }, gridSets.listProposals),
  route('GET /api/v1/gridset-preview', 'viewer', 'The outline of a grid set, declared or not, and its tiles at a zoom, as lines on the earth',
    { query: gridSets.gridPreviewQuery, answer: gridSets.gridPreviewResponse }, gridSets.previewGridSet),

  route('POST /api/v1/import', 'admin', 'Read the capabilities of a WMS or WMTS as declarations; declares nothing',
    { body: imports.importBody, answer: imports.importResponse, asksOnly: true }, imports.readService),
  route('GET /api/v1/preview', 'admin', 'Preview a layer that is not declared',
    { query: imports.previewQuery, answer: layers.layerResponse.pick({ gridSets: true, formats: true, extensions: true, parameters: true }) }, imports.previewLayer),
  route('GET /api/v1/preview/{gridSet}/{z}/{x}/{y}', 'admin', 'A tile of a layer that is not declared; nothing is kept',
    { query: imports.previewQuery, answerType: 'image/*' }, imports.previewTile),

  route('GET /api/v1/exports', 'operator', 'List exports', { answer: z.object({ exports: z.array(exports.exportResponse) }) }, exports.listExports),
  route('POST /api/v1/exports', 'operator', 'Copy cached tiles into a file, in the background, or with dryRun count them',
    { body: exports.exportBody, answer: z.union([exports.exportResponse, exports.exportCountResponse]), status: 201 }, exports.startExport),
  route('GET /api/v1/exports/{id}', 'operator', 'Show an export', { answer: exports.exportResponse }, exports.showExport),
  route('DELETE /api/v1/exports/{id}', 'operator', 'Stop an export and remove its file', { status: 204 }, exports.removeExport),
  route('GET /api/v1/exports/{id}/file', 'operator', 'Download what was exported', { answerType: 'application/octet-stream' }, exports.downloadExport),

  route('GET /api/v1/quota', 'viewer', 'Show the quota', { answer: quota.quotaResponse, versioned: true }, quota.showQuota),
  route('PUT /api/v1/quota', 'admin', 'Change the quota; only what is sent changes', { body: quota.quotaBody, answer: quota.quotaResponse, versioned: true }, quota.changeQuota),
  route('GET /api/v1/usage', 'viewer', 'Disk usage of cached tiles', { answer: quota.usageResponse }, quota.showUsage),
  route('GET /api/v1/evictions', 'viewer', 'Tiles evicted by quotas, per hour', { query: quota.evictionsQuery, answer: quota.evictionsResponse }, quota.listEvictions),

  route('GET /api/v1/upstreams', 'viewer', 'State of each upstream host', { answer: status.upstreamsResponse }, status.listUpstreams),
  route('POST /api/v1/upstreams/{host}/pause', 'operator', 'Send no requests to a host until it is resumed', { answer: status.upstreamResponse }, status.pauseUpstream),
  route('POST /api/v1/upstreams/{host}/resume', 'operator', 'Resume a paused host', { answer: status.upstreamResponse }, status.resumeUpstream),
  route('POST /api/v1/upstreams/{host}/try', 'operator', 'Try a failing host now, with one request', { answer: status.upstreamResponse }, status.tryUpstream),
  route('GET /api/v1/series', 'viewer', 'Tile requests of the last 24 hours, per minute', { answer: seriesResponse }, status.showSeries),
  route('GET /api/v1/about', 'viewer', 'Show version and start time', { answer: status.aboutResponse }, status.showAbout),
  route('GET /api/v1/nodes', 'viewer', 'Servers and workers on the same database; those seen in the last hour', { answer: status.nodeListResponse }, status.listNodes),

  route('POST /api/v1/session', 'public', 'Log in', { body: session.loginBody, answer: accounts.sessionResponse }, session.logIn),
  route('DELETE /api/v1/session', 'viewer', 'Log out', { status: 204 }, session.logOut),
  route('GET /session.json', 'public', 'Show the caller, or null, to pages', { answerType: 'application/json' }, session.showSession),
  route('GET /api/v1/me', 'viewer', 'Show the caller', { answer: accounts.callerResponse }, session.showCaller),
  route('PUT /api/v1/me/password', 'viewer', "Change one's own password",
    { body: session.newPasswordBody, status: 204, target: 'user:{caller}' }, session.changePassword),

  route('GET /api/v1/users', 'admin', 'List users', { answer: z.object({ users: z.array(accounts.userResponse) }) }, accounts.listUsers),
  route('POST /api/v1/users', 'admin', 'Add a user', { body: accounts.userBody, answer: accounts.userResponse, status: 201 }, accounts.addUser),
  route('GET /api/v1/users/{name}', 'admin', 'Show a user', { answer: accounts.userResponse }, accounts.showUser),
  route('PUT /api/v1/users/{name}', 'admin', 'Change a user',
    { body: accounts.userChangesBody, answer: accounts.userResponse, target: 'user:{name}' }, accounts.changeUser),
  route('DELETE /api/v1/users/{name}', 'admin', 'Remove a user', { status: 204, target: 'user:{name}' }, accounts.removeUser),
  route('POST /api/v1/users/{name}/sign-out', 'admin', 'End the sessions of a user', { answer: accounts.signOutResponse, target: 'user:{name}' }, accounts.signOutUser),
  route('GET /api/v1/external-accounts', 'admin', 'List accounts of the issuer or a proxy that have sessions or tokens',
    { answer: z.object({ accounts: z.array(accounts.externalAccountResponse) }) }, accounts.listExternalAccounts),
  route('POST /api/v1/external-accounts/{id}/sign-out', 'admin', 'End the sessions of an external account', { answer: accounts.signOutResponse }, accounts.signOutExternal),
  route('DELETE /api/v1/external-accounts/{id}', 'admin', 'End the sessions of an external account and revoke its tokens', { status: 204 }, accounts.removeExternal),
  route('GET /api/v1/tokens', 'admin', 'List tokens', { answer: z.object({ tokens: z.array(accounts.tokenResponse) }) }, accounts.listTokens),
  route('POST /api/v1/tokens', 'admin', 'Create a token; it is shown only once',
    { body: accounts.tokenBody, answer: accounts.tokenResponse.extend({ token: z.string() }), status: 201 }, accounts.createToken),
  route('DELETE /api/v1/tokens/{id}', 'admin', 'Revoke a token', { status: 204, target: 'token:{id}' }, accounts.revokeToken),
  route('GET /api/v1/keys', 'admin', 'List keys for readers', { answer: z.object({ keys: z.array(accounts.keyResponse) }) }, accounts.listKeys),
  route('POST /api/v1/keys', 'admin', 'Create a key for readers; it is shown only once',
    { body: accounts.keyBody, answer: accounts.keyResponse.extend({ key: z.string() }), status: 201 }, accounts.createKey),
  route('DELETE /api/v1/keys/{id}', 'admin', 'Delete a key for readers', { status: 204, target: 'key:{id}' }, accounts.removeKey),

  route('GET /api/v1/audit', 'admin', 'Query the audit log', { query: audit.auditQuery, answer: audit.auditResponse }, audit.listAudit),
  route('POST /api/v1/audit/{id}/restore', 'admin', 'Declare a layer again as it was before a change in the audit log',
    { answer: catalog.restoredResponse }, audit.restoreLayer),
  route('GET /api/v1/openapi.json', 'viewer', 'This document', { answerType: 'application/json' }, showOpenApi),
] as const;

type Api = (typeof API_ROUTES)[number];
type ShapeOf<Name extends Api['name']> = Extract<Api, { readonly name: Name }>['shape'];
type AnswerOf<Described> = Described extends { readonly answer: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : never;
type BodyOf<Described> = Described extends { readonly body: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : never;

/** E.g. `GET /api/v1/tasks`. The console takes its types from here. */
export type ApiRequest = Api['name'];
export type ApiResponse<Request extends ApiRequest> = AnswerOf<ShapeOf<Request>>;
export type ApiBody<Request extends ApiRequest> = BodyOf<ShapeOf<Request>>;
