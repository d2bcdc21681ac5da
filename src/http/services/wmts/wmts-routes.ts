import { shortened } from '../../../domain/errors.ts';
import { isOpenTo, requireVisible } from '../../auth/layer-visibility.ts';
import type { Context } from '../../context.ts';
import { type Handler, openRoute, type Route, tileRoute } from '../../route.ts';
import { wmtsFeatureInfo } from '../feature-info.ts';
import { type Kvp, kvpRoutes, pairsOf } from '../kvp.ts';
import type { Operation, Services } from '../open-services.ts';
import {
  badValue,
  checkService,
  readPairs,
  required,
  ServiceException,
  withOwsExceptions,
} from '../service-exception.ts';
import { getTileJson } from '../tile-json.ts';
import { createCapabilitiesWriter } from './capabilities.ts';
import { getTile, LONG_PATHS, PLACE, readLongPath, requestedLayer } from './get-tile.ts';
import { createCrsNames } from './grid-set-crs.ts';

const REST = '/service/wmts/rest';
const GET_TILE = /(?:^|&)request=gettile(?:&|$)/i;
const TILE = PLACE.map((name) => `{${name}}`).join('/');
/** With a style, with an empty one, and without. */
const TILE_PATHS = [`{layer}/{STYLE}/${TILE}`, `{layer}//${TILE}`, `{layer}/${TILE}`];

/** WMTS 1.0.0 in both its encodings, at GeoWebCache's addresses. */
export function wmtsRoutes(deps: Services): readonly Route[] {
  const getCapabilities = createGetCapabilities(deps.documentOf);
  const operations = new Map<string, Operation>([
    ['getcapabilities', getCapabilities],
    ['gettile', getTile],
    ['getfeatureinfo', wmtsFeatureInfo],
    ['gettilejson', getTileJson],
  ]);
  const answerPairs: Handler = async (context) => {
    const kvp = readPairs(context);
    // The address without parameters returns the capabilities.
    if (pairsOf(context) === '') return getCapabilities(context, kvp, deps);
    return requestedOperation(operations, kvp)(context, kvp, deps);
  };
  const withExceptions = (handler: Handler) => withOwsExceptions(deps.screen(handler), deps.log);
  const route = (path: string, handler: Handler) => openRoute(`${REST}/${path}`, withExceptions(handler));
  const tile = deps.remembering(async (context) => getTile(context, readPath(context), deps));
  const info: Handler = async (context) => wmtsFeatureInfo(context, infoPairs(readPath(context)), deps);
  const long = deps.remembering(async (context) => {
    const { layer } = requestedLayer(deps.catalog, () => context.param('segment0'));
    if (!isOpenTo(context, layer)) await requireVisible(context, layer);
    const kvp = readLongPath(context, layer);
    return kvp('I') === null ? getTile(context, kvp, deps) : wmtsFeatureInfo(context, infoPairs(kvp), deps);
  });
  return [
    ...kvpRoutes('/service/wmts', withExceptions(deps.remembering(answerPairs)), GET_TILE),
    route('WMTSCapabilities.xml', async (context) => getCapabilities(context, readPairs(context), deps)),
    ...TILE_PATHS.map((path) => tileRoute(`${REST}/${path}`, withExceptions(tile))),
    route(`{layer}//${TILE}/{J}/{I}`, info),
    ...LONG_PATHS.map((path) => tileRoute(`${REST}/${path}`, withExceptions(long))),
  ];
}

function requestedOperation(operations: ReadonlyMap<string, Operation>, kvp: Kvp): Operation {
  const name = required(kvp, 'REQUEST', 'request');
  // QGIS adds SERVICE=WMS to any address without SERVICE=WMTS, and understands the response.
  if (name.toLowerCase() !== 'getcapabilities') checkService(kvp, 'WMTS');
  const operation = operations.get(name.toLowerCase());
  if (operation) return operation;
  throw badValue('request', `Invalid request name '${shortened(name)}'.`);
}

/** Format and dimensions of a RESTful address are in its query. */
function readPath(context: Context): Kvp {
  const inQuery = readPairs(context);
  return (name) => context.params[name === 'LAYER' ? 'layer' : name] ?? inQuery(name);
}

/** FORMAT of a path is the format of the response, because no tile is requested. */
function infoPairs(kvp: Kvp): Kvp {
  return (name) => {
    if (name === 'INFOFORMAT') return kvp('INFOFORMAT') ?? kvp('FORMAT');
    return name === 'FORMAT' ? null : kvp(name);
  };
}

const VERSION = '1.0.0';

/** All layers visible to the caller, or the one in `LAYER`; naming an invisible one is an error. */
function createGetCapabilities(documentOf: Services['documentOf']): Operation {
  const document = documentOf({
    write: createCapabilitiesWriter(createCrsNames()),
    contentType: 'text/xml; charset=utf-8',
    fileName: 'wmts-getcapabilities.xml',
  });

  return async (context, kvp, { catalog }) => {
    checkVersions(kvp);
    if (kvp('LAYER') === null) return document.aboutAll(context);
    const { layer } = requestedLayer(catalog, kvp);
    await requireVisible(context, layer);
    return document.about(context, [layer]);
  };
}

/** OGC 06-121r3, 7.3.2: a client that accepts no supported version gets an exception; without a version, the newest. */
function checkVersions(kvp: Kvp): void {
  const accepted = kvp('ACCEPTVERSIONS');
  if (accepted === null || accepted.split(',').some((version) => version.trim() === VERSION)) return;
  throw new ServiceException('VersionNegotiationFailed', null, `The only supported version is ${VERSION}.`);
}
