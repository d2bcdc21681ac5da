import { type ApiRoute, route, type Shape } from '../api/api-route.ts';
import { METHODS } from '../route.ts';
import * as quota from './disk-quota.ts';
import * as layers from './layers.ts';
import { listTruncations, massTruncate } from './mass-truncate.ts';
import { resource } from './representation.ts';
import * as resources from './resources.ts';
import * as seed from './seed.ts';

const xmlTypes = ['text/xml', 'application/xml'];
const bodyTypes = { xml: xmlTypes, json: ['application/json'] };
const json: Shape = { answerType: 'application/json' };
const xml: Shape = { answerType: 'text/xml' };
const text: Shape = { answerType: 'text/plain' };
const truncation: Shape = { bodyTypes: [...xmlTypes, 'application/json'] };
const form: Shape = { answerType: 'text/html', bodyTypes: ['application/x-www-form-urlencoded'] };
/** GeoWebCache's clients use paths with and without `/rest`. */
const PREFIXES = ['', '/rest'] as const;

/** GeoWebCache's interface. If two patterns match a path, the first one counts. */
// biome-ignore format: a table
export const GWC_ROUTES: readonly ApiRoute[] = [
  route('GET /rest/seed.json', 'viewer', 'The numbers of all tasks', json, seed.listTasks),
  route('POST /rest/seed', 'operator', 'Cancel tasks of every layer', form, seed.stopByForm),
  ...(['json', 'xml'] as const).flatMap((format) => [
    route(`GET /rest/seed/{layer}.${format}`, 'viewer', "The numbers of a layer's tasks", json, seed.listTasksOfLayer),
    route(`POST /rest/seed/{layer}.${format}`, 'operator', 'Seed, reseed or truncate', { bodyTypes: bodyTypes[format] }, seed.seedBy(format)),
  ]),
  route('POST /rest/seed/{layer}', 'operator', 'Cancel, list or start tasks of a layer by a form', form, seed.takeForm),

  ...PREFIXES.flatMap((prefix) => [
    route(`GET ${prefix}/masstruncate`, 'viewer', 'The kinds of mass truncation', xml, listTruncations),
    route(`POST ${prefix}/masstruncate`, 'operator', 'Empty a layer, or parts of it', truncation, massTruncate),
    // GeoNode sends `truncateAll` to the path with a slash.
    route(`POST ${prefix}/masstruncate/`, 'operator', 'Empty a layer, or parts of it', truncation, massTruncate),
    route(`GET ${prefix}/diskquota.xml`, 'viewer', 'Show the quota', xml, quota.quotaAs('xml')),
    route(`PUT ${prefix}/diskquota.xml`, 'admin', 'Change the quota', { bodyTypes: bodyTypes.xml }, quota.changeQuotaBy('xml')),
    route(`GET ${prefix}/diskquota.json`, 'viewer', 'Show the quota', json, quota.quotaAs('json')),
    route(`PUT ${prefix}/diskquota.json`, 'admin', 'Change the quota', { bodyTypes: bodyTypes.json }, quota.changeQuotaBy('json')),
    ...METHODS.map((method) => route(`${method} ${prefix}/diskquota.{format}`, 'viewer', 'Refuse other formats of the quota', text, quota.refuseFormat)),
  ]),
  route('GET /rest/diskquota', 'viewer', 'Show the quota', xml, quota.quotaAs('xml')),
  route('PUT /rest/diskquota', 'admin', 'Change the quota', { bodyTypes: bodyTypes.xml }, quota.changeQuotaBy('xml')),

  route('GET /rest', 'viewer', "The resources of GeoWebCache's interface", {}, resources.showIndex),
  route('GET /rest/', 'viewer', "The resources of GeoWebCache's interface", {}, resources.showIndex),
  ...resource('/rest/layers', 'the layers', { GET: ['viewer', layers.listLayers] }),
  ...resource('/rest/layers/{layer}', 'a layer',
    { GET: ['viewer', layers.showLayer], PUT: ['admin', layers.putLayer], POST: ['admin', layers.postLayer], DELETE: ['admin', layers.removeLayer] }),
  ...resource('/rest/gridsets', 'the grid sets', { GET: ['viewer', layers.listGridSets] }),
  ...resource('/rest/gridsets/{gridSet}', 'a grid set',
    { GET: ['viewer', layers.showGridSet], PUT: ['admin', layers.putGridSet], DELETE: ['admin', layers.removeGridSet] }),
  ...resource('/rest/blobstores', 'the stores', { GET: ['admin', resources.listStores] }),
  ...resource('/rest/blobstores/{store}', 'a store',
    { GET: ['admin', resources.showStore], PUT: ['admin', resources.refuseChange], DELETE: ['admin', resources.refuseRemoval] }),
  ...resource('/rest/global', 'what the service says of itself', { GET: ['admin', resources.showGlobal], PUT: ['admin', resources.putGlobal] }),
  ...resource('/rest/statistics', 'how tiles were answered', { GET: ['viewer', resources.showStatistics] }),
  route('POST /rest/reload', 'admin', 'Read the configuration file again', form, resources.reloadConfiguration),
];
