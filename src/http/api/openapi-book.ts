import { z } from 'zod';
import type { RouteDescription } from '../route.ts';
import {
  runAnswer,
  runListAnswer,
  scheduleAnswer,
  scheduleBody,
  scheduleListAnswer,
} from '../wire/schedule-document.ts';
import {
  estimateAnswer,
  taskAnswer,
  taskBody,
  taskListAnswer,
  taskListQuery,
} from '../wire/task-document.ts';
import { invalidateBody, invalidateQuery, truncateBody } from '../wire/tile-selection.ts';
import {
  callerAnswer,
  sessionAnswer,
  tokenAnswer,
  tokenBody,
  userAnswer,
  userBody,
  userChangesBody,
} from './accounts.ts';
import { blankAreaAnswer, blankAreaBody, blankAreaListAnswer } from './blank-areas.ts';
import { declarationAnswer, declarationBody, dryRunQuery } from './catalog-changes.ts';
import {
  coverageAnswer,
  coverageQuery,
  tileSetQuery,
  zoomCoverageAnswer,
  zoomCoverageQuery,
} from './coverage.ts';
import { exportAnswer, exportBody } from './exports.ts';
import { importAnswer, importBody, previewQuery } from './imports.ts';
import { tileAnswer } from './inspect.ts';
import { gridSetListAnswer, layerAnswer, layerListAnswer } from './layers.ts';
import { evictionsAnswer, evictionsQuery, quotaAnswer, quotaBody, usageAnswer } from './quota.ts';
import { seriesAnswer } from './series.ts';
import { auditAnswer, auditQuery, loginBody, newPasswordBody } from './session.ts';
import { aboutAnswer, nodeListAnswer, upstreamsAnswer } from './status.ts';
import { invalidateAnswer, truncateAnswer } from './truncate.ts';

type Descriptions = Readonly<Record<string, RouteDescription>>;

const declaring = { query: dryRunQuery, body: declarationBody, answer: declarationAnswer };

/** Of our own interface, by method and path. The console takes its types from here. */
export const API_DESCRIPTIONS = {
  'GET /api/v1/tasks': { summary: 'List tasks, newest first', query: taskListQuery, answer: taskListAnswer },
  'POST /api/v1/tasks': {
    summary: 'Start a task, or with dryRun tell what it would be',
    body: taskBody,
    answer: z.union([taskAnswer, estimateAnswer]),
    status: 201,
  },
  'GET /api/v1/tasks/{id}': { summary: 'Show a task', answer: taskAnswer },
  'POST /api/v1/tasks/{id}/cancel': { summary: 'Stop a task for good', answer: taskAnswer },
  'POST /api/v1/tasks/{id}/pause': { summary: 'Let a task wait', answer: taskAnswer },
  'POST /api/v1/tasks/{id}/resume': { summary: 'Let a task go on', answer: taskAnswer },
  'POST /api/v1/tasks/{id}/retry': {
    summary: 'Start a task over what failed in this one',
    answer: taskAnswer,
    status: 201,
  },
  'GET /api/v1/events': { summary: 'Changes of tasks, as they happen', answerType: 'text/event-stream' },

  'GET /api/v1/layers': { summary: 'List layers', answer: layerListAnswer },
  'GET /api/v1/layers/{layer}': { summary: 'Show a layer', answer: layerAnswer },
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
    summary: 'What a layer that is not declared would offer',
    query: previewQuery,
    answer: layerAnswer.pick({ gridSets: true, formats: true, extensions: true, parameters: true }),
  },
  'GET /api/v1/preview/{gridSet}/{z}/{x}/{y}': {
    summary: 'A tile of a layer that is not declared; nothing is kept',
    query: previewQuery,
    answerType: 'image/*',
  },
  'GET /api/v1/gridsets': { summary: 'List the grid sets that layers use', answer: gridSetListAnswer },
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
    summary: 'All that is known of one tile',
    query: tileSetQuery,
    answer: tileAnswer,
  },
  'GET /api/v1/layers/{layer}/tiles/{gridSet}/{z}/{x}/{y}/content': {
    summary: 'The tile as it is stored; looking makes none',
    query: tileSetQuery,
    answerType: 'image/*',
  },
  'POST /api/v1/layers/{layer}/truncate': {
    summary: 'Remove a selection of tiles, or with dryRun count it',
    body: truncateBody,
    answer: truncateAnswer,
  },

  'POST /api/v1/layers/{layer}/invalidate': {
    summary: 'Tell that the map has changed: mark a selection of tiles as stale, or with dryRun count it',
    query: invalidateQuery,
    body: invalidateBody,
    plainBody: 'Tiles as lines of z/x/y in web mercator, rows from the top',
    answer: invalidateAnswer,
  },

  'GET /api/v1/layers/{layer}/blank-areas': {
    summary: 'Where empty pictures are right, and where they are suspect',
    answer: blankAreaListAnswer,
  },
  'POST /api/v1/layers/{layer}/blank-areas': {
    summary: 'Say that empty pictures are right here',
    body: blankAreaBody,
    answer: blankAreaAnswer,
    status: 201,
  },
  'DELETE /api/v1/layers/{layer}/blank-areas/{id}': { summary: 'Take it back', status: 204 },

  'GET /api/v1/exports': {
    summary: 'List exports',
    answer: z.object({ exports: z.array(exportAnswer) }),
  },
  'POST /api/v1/exports': {
    summary: 'Copy cached tiles into a file, in the background',
    body: exportBody,
    answer: exportAnswer,
    status: 201,
  },
  'GET /api/v1/exports/{id}': { summary: 'How far an export is', answer: exportAnswer },
  'DELETE /api/v1/exports/{id}': { summary: 'Stop an export and remove its file', status: 204 },
  'GET /api/v1/exports/{id}/file': {
    summary: 'Download what was exported',
    answerType: 'application/octet-stream',
  },

  'GET /api/v1/schedules': { summary: 'List schedules', answer: scheduleListAnswer },
  'POST /api/v1/schedules': {
    summary: 'Make a schedule',
    body: scheduleBody,
    answer: scheduleAnswer,
    status: 201,
  },
  'GET /api/v1/schedules/{id}': { summary: 'Show a schedule', answer: scheduleAnswer },
  'PUT /api/v1/schedules/{id}': { summary: 'Replace a schedule', body: scheduleBody, answer: scheduleAnswer },
  'DELETE /api/v1/schedules/{id}': { summary: 'Remove a schedule', status: 204 },
  'GET /api/v1/schedules/{id}/runs': { summary: 'What became of its runs', answer: runListAnswer },
  'POST /api/v1/schedules/{id}/run': { summary: 'Run it now', answer: runAnswer },

  'GET /api/v1/upstreams': {
    summary: 'How it goes with each host that sources speak to',
    answer: upstreamsAnswer,
  },
  'GET /api/v1/usage': { summary: 'What the tiles take on disk', answer: usageAnswer },
  'GET /api/v1/evictions': {
    summary: 'What quotas removed, hour by hour',
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
  'GET /api/v1/series': { summary: 'How tiles were answered in the last day', answer: seriesAnswer },

  'POST /api/v1/session': { summary: 'Log in', body: loginBody, answer: sessionAnswer },
  'DELETE /api/v1/session': { summary: 'Log out', status: 204 },
  'GET /api/v1/me': { summary: 'Who is asking', answer: callerAnswer },
  'PUT /api/v1/me/password': { summary: "Change one's own password", body: newPasswordBody, status: 204 },
  'GET /api/v1/users': { summary: 'List users', answer: z.object({ users: z.array(userAnswer) }) },
  'POST /api/v1/users': { summary: 'Add a user', body: userBody, answer: userAnswer, status: 201 },
  'GET /api/v1/users/{name}': { summary: 'Show a user', answer: userAnswer },
  'PUT /api/v1/users/{name}': { summary: 'Change a user', body: userChangesBody, answer: userAnswer },
  'DELETE /api/v1/users/{name}': { summary: 'Remove a user', status: 204 },
  'GET /api/v1/tokens': { summary: 'List tokens', answer: z.object({ tokens: z.array(tokenAnswer) }) },
  'POST /api/v1/tokens': {
    summary: 'Make a token; it is shown this once',
    body: tokenBody,
    answer: tokenAnswer.extend({ token: z.string() }),
    status: 201,
  },
  'DELETE /api/v1/tokens/{id}': { summary: 'Revoke a token', status: 204 },
  'GET /api/v1/audit': { summary: 'Who changed what', query: auditQuery, answer: auditAnswer },
  'GET /api/v1/about': { summary: 'What is running here', answer: aboutAnswer },
  'GET /api/v1/nodes': {
    summary: 'Servers and workers on the same database; those seen in the last hour',
    answer: nodeListAnswer,
  },
  'GET /api/v1/openapi.json': { summary: 'This document', answerType: 'application/json' },
} satisfies Descriptions;

const XML_TYPES = ['text/xml', 'application/xml'];
const JSON_TYPES = ['application/json'];
const FORM_TYPES = ['application/x-www-form-urlencoded'];

/** By method and path, for the routes whose own declaration does not say it. */
export const DESCRIPTIONS: Descriptions = {
  ...API_DESCRIPTIONS,
  'GET /rest/seed.json': rest('The numbers of all tasks', 'application/json'),
  'POST /rest/seed': rest('Stop tasks of every layer', 'text/html', FORM_TYPES),
  'GET /rest/seed/{layer}.json': rest("The numbers of a layer's tasks", 'application/json'),
  'GET /rest/seed/{layer}.xml': rest("The numbers of a layer's tasks", 'application/json'),
  'POST /rest/seed/{layer}.json': rest('Seed, reseed or truncate', null, JSON_TYPES),
  'POST /rest/seed/{layer}.xml': rest('Seed, reseed or truncate', null, XML_TYPES),
  'POST /rest/seed/{layer}': rest('Stop, list or start tasks of a layer by a form', 'text/html', FORM_TYPES),
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
  return {
    [`GET ${prefix}/masstruncate`]: rest('The kinds of mass truncation', 'text/xml'),
    [`POST ${prefix}/masstruncate`]: rest('Empty a layer, or parts of it, at once', null, [
      ...XML_TYPES,
      ...JSON_TYPES,
    ]),
    [`GET ${prefix}/diskquota.xml`]: rest('Show the quota', 'text/xml'),
    [`PUT ${prefix}/diskquota.xml`]: rest('Change the quota', null, XML_TYPES),
    [`GET ${prefix}/diskquota.json`]: rest('Show the quota', 'application/json'),
    [`PUT ${prefix}/diskquota.json`]: rest('Change the quota', null, JSON_TYPES),
  };
}

function rest(summary: string, answerType: string | null, bodyTypes?: readonly string[]): RouteDescription {
  return { summary, ...(answerType && { answerType }), ...(bodyTypes && { bodyTypes }) };
}
