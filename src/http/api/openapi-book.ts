import { z } from 'zod';
import { changeBody } from '../../changes/feeds/read-change.ts';
import type { RouteDescription } from '../route.ts';
import {
  runAnswer,
  runListAnswer,
  scheduleAnswer,
  scheduleBody,
  scheduleListAnswer,
} from '../wire/schedule-document.ts';
import { taskAnswer, taskBody, taskListAnswer } from '../wire/task-document.ts';
import { stopAnswer, stopBody, taskListQuery } from '../wire/task-filter.ts';
import { invalidateBody, invalidateQuery, truncateBody } from '../wire/tile-selection.ts';
import {
  callerAnswer,
  keyAnswer,
  keyBody,
  sessionAnswer,
  tokenAnswer,
  tokenBody,
  userAnswer,
  userBody,
  userChangesBody,
} from './accounts.ts';
import { auditAnswer, auditQuery } from './audit.ts';
import { blankAreaAnswer, blankAreaBody, blankAreaListAnswer } from './blank-areas.ts';
import { changeQuery, declarationAnswer, declarationBody, dryRunQuery } from './catalog-changes.ts';
import { changeAcceptedAnswer, changeFeedsAnswer, recentChangesAnswer, replayAnswer } from './changes.ts';
import {
  coverageAnswer,
  coverageQuery,
  tileSetQuery,
  zoomCoverageAnswer,
  zoomCoverageQuery,
} from './coverage.ts';
import { deliveryListAnswer } from './deliveries.ts';
import { estimateAnswer } from './estimate.ts';
import { exportAnswer, exportBody, exportCountAnswer } from './exports.ts';
import { importAnswer, importBody, previewQuery } from './imports.ts';
import { tileAnswer } from './inspect.ts';
import {
  clientListAnswer,
  gridSetAnswer,
  gridSetListAnswer,
  layerAnswer,
  layerListAnswer,
} from './layers.ts';
import { evictionsAnswer, evictionsQuery, quotaAnswer, quotaBody, usageAnswer } from './quota.ts';
import { previewAnswer, scheduleQuery } from './schedules.ts';
import { seriesAnswer } from './series.ts';
import { loginBody, newPasswordBody } from './session.ts';
import { aboutAnswer, nodeListAnswer, upstreamsAnswer } from './status.ts';
import { tileAddressesAnswer, tileAddressesBody } from './tile-addresses.ts';
import { invalidateAnswer, truncateAnswer } from './truncate.ts';

type Descriptions = Readonly<Record<string, RouteDescription>>;

const declaring = { query: changeQuery, body: declarationBody, answer: declarationAnswer };

/** Of our own interface, by method and path. The console takes its types from here. */
export const API_DESCRIPTIONS = {
  'GET /api/v1/tasks': { summary: 'List tasks, newest first', query: taskListQuery, answer: taskListAnswer },
  'POST /api/v1/tasks': {
    summary: 'Start a task, or with dryRun estimate it',
    body: taskBody,
    answer: z.union([taskAnswer, estimateAnswer]),
    status: 201,
  },
  'POST /api/v1/tasks/stop': {
    summary: 'Stop the tasks that a filter describes, or with dryRun count them',
    body: stopBody,
    answer: stopAnswer,
  },
  'GET /api/v1/tasks/{id}': { summary: 'Show a task', answer: taskAnswer },
  'POST /api/v1/tasks/{id}/cancel': { summary: 'Stop a task', answer: taskAnswer },
  'POST /api/v1/tasks/{id}/pause': { summary: 'Pause a task', answer: taskAnswer },
  'POST /api/v1/tasks/{id}/resume': { summary: 'Resume a task', answer: taskAnswer },
  'POST /api/v1/tasks/{id}/retry': {
    summary: 'Retry what failed in a task, as a new task',
    answer: taskAnswer,
    status: 201,
  },
  'POST /api/v1/tile-addresses': {
    summary: 'Find the pages that tile addresses of an access log are in',
    body: tileAddressesBody,
    answer: tileAddressesAnswer,
  },
  'GET /api/v1/events': { summary: 'Stream changes of tasks', answerType: 'text/event-stream' },

  'GET /api/v1/changes': { summary: 'List the feeds of data changes', answer: changeFeedsAnswer },
  'GET /api/v1/changes/{name}/recent': {
    summary: 'List the changes that a feed reported in the last hour, newest first, at most 500',
    answer: recentChangesAnswer,
  },
  'POST /api/v1/changes/{name}/replay': {
    summary: 'Apply the changes that a feed reported in the last hour again',
    answer: replayAnswer,
  },
  'POST /api/v1/changes/{name}': {
    summary: 'Report a data change, signed with the secret of the feed (X-Hub-Signature-256)',
    body: changeBody,
    bodyTypes: ['application/json', 'application/geo+json'],
    answer: changeAcceptedAnswer,
    status: 202,
  },

  'GET /api/v1/layers': { summary: 'List layers', answer: layerListAnswer },
  'GET /api/v1/layers/{layer}': { summary: 'Show a layer', answer: layerAnswer },
  'GET /api/v1/layers/{layer}/clients/{gridSet}': {
    summary: 'Addresses and code for map clients that show a layer',
    query: tileSetQuery,
    answer: clientListAnswer,
  },
  'POST /api/v1/layers': { summary: 'Declare a layer', ...declaring, status: 201 },
  'PUT /api/v1/layers/{layer}': { summary: 'Declare a layer, or replace its declaration', ...declaring },
  'DELETE /api/v1/layers/{layer}': {
    summary: 'Remove a layer that was declared over this interface, and its tiles',
    query: dryRunQuery,
    status: 204,
  },
  'POST /api/v1/import': {
    summary: 'Read the capabilities of a WMS or WMTS as declarations; declares nothing',
    body: importBody,
    answer: importAnswer,
  },
  'GET /api/v1/preview': {
    summary: 'Preview a layer that is not declared',
    query: previewQuery,
    answer: layerAnswer.pick({ gridSets: true, formats: true, extensions: true, parameters: true }),
  },
  'GET /api/v1/preview/{gridSet}/{z}/{x}/{y}': {
    summary: 'A tile of a layer that is not declared; nothing is kept',
    query: previewQuery,
    answerType: 'image/*',
  },
  'GET /api/v1/gridsets': { summary: 'List the grid sets that layers use', answer: gridSetListAnswer },
  'GET /api/v1/gridsets/{gridSet}': { summary: 'Show a grid set', answer: gridSetAnswer },
  'POST /api/v1/gridsets': { summary: 'Declare a grid set', ...declaring, status: 201 },
  'PUT /api/v1/gridsets/{gridSet}': { summary: 'Declare a grid set, or replace it', ...declaring },
  'DELETE /api/v1/gridsets/{gridSet}': {
    summary: 'Remove a grid set that no layer uses',
    query: dryRunQuery,
    status: 204,
  },
  'GET /api/v1/layers/{layer}/coverage/{gridSet}': {
    summary: 'How much of a layer is cached, zoom by zoom',
    query: zoomCoverageQuery,
    answer: zoomCoverageAnswer,
  },
  'GET /api/v1/layers/{layer}/coverage/{gridSet}/{z}': {
    summary: 'Where a layer is cached at a zoom, and how old it is there',
    query: coverageQuery,
    answer: coverageAnswer,
  },
  'GET /api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}': {
    summary: 'Inspect a tile',
    query: tileSetQuery,
    answer: tileAnswer,
  },
  'GET /api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}/content': {
    summary: 'The tile as it is stored; a missing one is not made',
    query: tileSetQuery,
    answerType: 'image/*',
  },
  'POST /api/v1/layers/{layer}/truncate': {
    summary: 'Remove a selection of tiles, or with dryRun count it',
    body: truncateBody,
    answer: truncateAnswer,
  },

  'POST /api/v1/layers/{layer}/invalidate': {
    summary: 'Mark a selection of tiles as stale, or with dryRun count it',
    query: invalidateQuery,
    body: invalidateBody,
    plainBody: 'Tiles as lines of z/x/y in web mercator, rows from the top',
    answer: invalidateAnswer,
  },

  'GET /api/v1/layers/{layer}/blank-areas': {
    summary: 'List areas where blank tiles are correct, and suspect blank tiles',
    answer: blankAreaListAnswer,
  },
  'POST /api/v1/layers/{layer}/blank-areas': {
    summary: 'Declare an area where blank tiles are correct',
    body: blankAreaBody,
    answer: blankAreaAnswer,
    status: 201,
  },
  'DELETE /api/v1/layers/{layer}/blank-areas/{id}': { summary: 'Remove such an area', status: 204 },

  'GET /api/v1/exports': {
    summary: 'List exports',
    answer: z.object({ exports: z.array(exportAnswer) }),
  },
  'POST /api/v1/exports': {
    summary: 'Copy cached tiles into a file, in the background, or with dryRun count them',
    body: exportBody,
    answer: z.union([exportAnswer, exportCountAnswer]),
    status: 201,
  },
  'GET /api/v1/exports/{id}': { summary: 'Show an export', answer: exportAnswer },
  'DELETE /api/v1/exports/{id}': { summary: 'Stop an export and remove its file', status: 204 },
  'GET /api/v1/exports/{id}/file': {
    summary: 'Download what was exported',
    answerType: 'application/octet-stream',
  },

  'GET /api/v1/schedules': { summary: 'List schedules', answer: scheduleListAnswer },
  'POST /api/v1/schedules': {
    summary: 'Create a schedule, or with dryRun list its next runs',
    query: scheduleQuery,
    body: scheduleBody,
    answer: z.union([scheduleAnswer, previewAnswer]),
    status: 201,
  },
  'GET /api/v1/schedules/{id}': { summary: 'Show a schedule', answer: scheduleAnswer },
  'PUT /api/v1/schedules/{id}': { summary: 'Replace a schedule', body: scheduleBody, answer: scheduleAnswer },
  'DELETE /api/v1/schedules/{id}': { summary: 'Remove a schedule', status: 204 },
  'GET /api/v1/schedules/{id}/runs': { summary: 'List the runs of a schedule', answer: runListAnswer },
  'POST /api/v1/schedules/{id}/run': { summary: 'Run a schedule now', answer: runAnswer },

  'GET /api/v1/deliveries': {
    summary: 'List purges and notifications, newest first',
    answer: deliveryListAnswer,
  },
  'GET /api/v1/upstreams': {
    summary: 'State of each upstream host',
    answer: upstreamsAnswer,
  },
  'GET /api/v1/usage': { summary: 'Disk usage of cached tiles', answer: usageAnswer },
  'GET /api/v1/evictions': {
    summary: 'Tiles evicted by quotas, per hour',
    query: evictionsQuery,
    answer: evictionsAnswer,
  },
  'GET /api/v1/quota': { summary: 'Show the quota', answer: quotaAnswer, versioned: true },
  'PUT /api/v1/quota': {
    summary: 'Change the quota; only what is sent changes',
    body: quotaBody,
    answer: quotaAnswer,
    versioned: true,
  },
  'GET /api/v1/series': { summary: 'Tile requests of the last 24 hours, per minute', answer: seriesAnswer },

  'POST /api/v1/session': { summary: 'Log in', body: loginBody, answer: sessionAnswer },
  'DELETE /api/v1/session': { summary: 'Log out', status: 204 },
  'GET /api/v1/me': { summary: 'Show the caller', answer: callerAnswer },
  'PUT /api/v1/me/password': { summary: "Change one's own password", body: newPasswordBody, status: 204 },
  'GET /api/v1/users': { summary: 'List users', answer: z.object({ users: z.array(userAnswer) }) },
  'POST /api/v1/users': { summary: 'Add a user', body: userBody, answer: userAnswer, status: 201 },
  'GET /api/v1/users/{name}': { summary: 'Show a user', answer: userAnswer },
  'PUT /api/v1/users/{name}': { summary: 'Change a user', body: userChangesBody, answer: userAnswer },
  'DELETE /api/v1/users/{name}': { summary: 'Remove a user', status: 204 },
  'GET /api/v1/tokens': { summary: 'List tokens', answer: z.object({ tokens: z.array(tokenAnswer) }) },
  'POST /api/v1/tokens': {
    summary: 'Create a token; it is shown only once',
    body: tokenBody,
    answer: tokenAnswer.extend({ token: z.string() }),
    status: 201,
  },
  'DELETE /api/v1/tokens/{id}': { summary: 'Revoke a token', status: 204 },
  'GET /api/v1/keys': { summary: 'List keys for readers', answer: z.object({ keys: z.array(keyAnswer) }) },
  'POST /api/v1/keys': {
    summary: 'Create a key for readers; it is shown only once',
    body: keyBody,
    answer: keyAnswer.extend({ key: z.string() }),
    status: 201,
  },
  'DELETE /api/v1/keys/{id}': { summary: 'Delete a key for readers', status: 204 },
  'GET /api/v1/audit': { summary: 'Query the audit log', query: auditQuery, answer: auditAnswer },
  'POST /api/v1/audit/{id}/restore': {
    summary: 'Declare a layer again as it was before a change in the audit log',
    answer: declarationAnswer,
  },
  'GET /api/v1/about': { summary: 'Show version and start time', answer: aboutAnswer },
  'GET /api/v1/nodes': {
    summary: 'Servers and workers on the same database; those seen in the last hour',
    answer: nodeListAnswer,
  },
  'GET /api/v1/openapi.json': { summary: 'This document', answerType: 'application/json' },
} satisfies Descriptions;

type Api = typeof API_DESCRIPTIONS;
type AnswerOf<Described> = Described extends { answer: infer Schema } ? z.output<Schema> : never;
type BodyOf<Described> = Described extends { body: infer Schema } ? z.input<Schema> : never;

/** E.g. `GET /api/v1/tasks`. */
export type ApiRequest = keyof Api;
export type ApiAnswer<Request extends ApiRequest> = AnswerOf<Api[Request]>;
export type ApiBody<Request extends ApiRequest> = BodyOf<Api[Request]>;

const XML_TYPES = ['text/xml', 'application/xml'];
const JSON_TYPES = ['application/json'];
const FORM_TYPES = ['application/x-www-form-urlencoded'];

/** By method and path, for the routes whose own declaration does not say it. */
export const DESCRIPTIONS: Descriptions = {
  ...API_DESCRIPTIONS,
  'GET /rest/seed.json': rest('The numbers of all tasks', 'application/json'),
  'POST /rest/seed': rest('Cancel tasks of every layer', 'text/html', FORM_TYPES),
  'GET /rest/seed/{layer}.json': rest("The numbers of a layer's tasks", 'application/json'),
  'GET /rest/seed/{layer}.xml': rest("The numbers of a layer's tasks", 'application/json'),
  'POST /rest/seed/{layer}.json': rest('Seed, reseed or truncate', null, JSON_TYPES),
  'POST /rest/seed/{layer}.xml': rest('Seed, reseed or truncate', null, XML_TYPES),
  'POST /rest/seed/{layer}': rest(
    'Cancel, list or start tasks of a layer by a form',
    'text/html',
    FORM_TYPES,
  ),
  'GET /rest/bounds/{layer}/{gridSet}/{type}': rest('The tiles of a layer at each zoom', 'text/plain'),
  'POST /rest/filter/{filter}/update/{type}': rest('Update a request filter', 'text/plain', [
    ...XML_TYPES,
    'application/zip',
  ]),
  'POST /rest/reload': rest('Read the configuration file again', 'text/html', FORM_TYPES),
  // GeoWebCache's clients use both.
  ...bulkDescriptions(''),
  ...bulkDescriptions('/rest'),
  'GET /rest/diskquota': rest('Show the quota', 'text/xml'),
  'PUT /rest/diskquota': rest('Change the quota', null, XML_TYPES),
};

function bulkDescriptions(prefix: string): Descriptions {
  const truncation = rest('Empty a layer, or parts of it', null, [...XML_TYPES, ...JSON_TYPES]);
  return {
    [`GET ${prefix}/masstruncate`]: rest('The kinds of mass truncation', 'text/xml'),
    [`POST ${prefix}/masstruncate`]: truncation,
    [`POST ${prefix}/masstruncate/`]: truncation,
    [`GET ${prefix}/diskquota.xml`]: rest('Show the quota', 'text/xml'),
    [`PUT ${prefix}/diskquota.xml`]: rest('Change the quota', null, XML_TYPES),
    [`GET ${prefix}/diskquota.json`]: rest('Show the quota', 'application/json'),
    [`PUT ${prefix}/diskquota.json`]: rest('Change the quota', null, JSON_TYPES),
  };
}

function rest(summary: string, answerType: string | null, bodyTypes?: readonly string[]): RouteDescription {
  return { summary, ...(answerType && { answerType }), ...(bodyTypes && { bodyTypes }) };
}
