/** GeoWebCache's mass truncation, at `/masstruncate`. */
import { type Caller, mayWorkOnAll } from '../../access/caller.ts';
import { invalid, isTilewardenError, shortened, type TilewardenError } from '../../domain/errors.ts';
import { type DocumentFormat, readDocument } from '../../geowebcache/read-document.ts';
import {
  coordsField,
  present,
  refuseUnknownFields,
  requireFields,
  textField,
  type WireElement,
} from '../../geowebcache/wire-element.ts';
import { keysOf } from '../../lib/value-path.ts';
import { element, writeXml } from '../../lib/xml/write-xml.ts';
import type { MassTruncation } from '../../tasks/mass-truncation.ts';
import type { TaskAuthor } from '../../tasks/task-draft.ts';
import type { ApiDeps, Call } from '../api/api-route.ts';
import { mayView, requireLayerScope } from '../auth/layer-visibility.ts';
import { BODY_TYPES, FORM, requireMediaType } from '../auth/request-checks.ts';
import { authorIn } from '../context.ts';
import { html, pageResponse } from '../page.ts';
import { HttpProblem } from '../problems.ts';
import { contentResponse, textResponse } from '../response.ts';
import { parametersField, refuseEmptyParameters } from './seed-request.ts';

const JSON_TYPE = 'application/json';
const MAX_NAMED = 100;

/** Responds when no client can get the old tiles any longer. */
export async function massTruncate({ context, caller, note }: Call, { catalog, massTruncation }: ApiDeps) {
  const mediaType = requireMediaType(context.headers, [...BODY_TYPES.xml, JSON_TYPE]);
  const body = mediaType === FORM ? unpackForm(context.body) : context.body;
  const by = authorIn({ caller });
  const request = readRequest(body, mediaType === JSON_TYPE ? 'json' : 'xml');
  const { type, layer } = request;
  const work = readWork(request, massTruncation, by);
  note({ target: layer === null ? 'every layer' : `layer:${layer}`, after: { type } });
  if (layer === null && !mayChangeAll(caller, catalog)) {
    throw new HttpProblem('forbidden', `${caller.name} may not work on every layer.`);
  }
  requireLayerScope(context, layer ?? undefined);
  if (layer !== null && !catalog.layer(layer)) throw invalid(`Could not find layer ${layer}`);
  const emptied = await work();
  return Array.isArray(emptied) && mediaType === FORM ? allPage(emptied) : textResponse(200, '');
}

function mayChangeAll(caller: Caller, { layers }: Pick<ApiDeps['catalog'], 'layers'>): boolean {
  if (!mayWorkOnAll(caller)) return false;
  return caller.role === 'admin' || [...layers()].every((layer) => mayView(caller, layer));
}

/**
 * `curl -d` declares its body as a form, but does not encode it. GeoWebCache's own page sends a real form, with a field
 * named `<truncateAll>` whose value is `</truncateAll>`.
 */
function unpackForm(body: Buffer): Buffer {
  const text = body.toString('utf8').trim();
  if (text === '' || text.startsWith('<')) return body;
  const fields = [...new URLSearchParams(text)];
  return Buffer.from(fields.map(([name, value]) => name + value).join(''));
}

/** The response to the button on GeoWebCache's page. */
function allPage(layers: readonly string[]) {
  const named =
    layers.length === 0
      ? 'No Layers were truncated'
      : `Truncated Layers:${layers.slice(0, MAX_NAMED).join(',')}`;
  return pageResponse(
    'Truncated All Layers',
    html`<p>Truncated All Layers</p>
<p>${named}</p>`,
  );
}

export function listTruncations({ context }: Call) {
  const { baseUrl, target, headers } = context;
  const accept = headers.accept ?? '';
  const asTextXml = /\btext\/xml\b/i.test(accept) && !/\bapplication\/xml\b/i.test(accept);
  const types = keysOf(FIELDS).map((type) => element('requestType', type));
  const href = `${baseUrl}${target.path.slice(target.prefix.length)}`;
  const list = element('massTruncateRequests', types, { href });
  return contentResponse(asTextXml ? 'text/xml' : 'application/xml', writeXml(list));
}

/** The kinds of requests with their fields, in the order in which GET lists them. */
const FIELDS = {
  truncateLayer: ['layerName'],
  truncateParameters: ['layerName', 'parameters'],
  truncateOrphans: ['layerName'],
  truncateExtent: ['layerName', 'gridSetId', 'bounds'],
  truncateAll: [],
};

type MassTruncateRequest = ReturnType<typeof readRequest>;

/** `layer` null: every layer. */
function readRequest(body: Buffer, format: DocumentFormat) {
  const root = readRoot(body, format);
  const type = keysOf(FIELDS).find((known) => known === root.name);
  if (!type) throw refused(`There is no request ${shortened(root.name)}`);
  requireFields(root);
  refuseUnknownFields(root, FIELDS[type]);
  refuseEmptyParameters(root);
  return { type, layer: type === 'truncateAll' ? null : required(root, 'layerName'), root };
}

/** Reads the other fields. Returns the work to do, which resolves to all names of layers if all are truncated. */
function readWork({ type, layer, root }: MassTruncateRequest, truncation: MassTruncation, by: TaskAuthor) {
  if (layer === null) return () => truncation.truncateAll();
  if (type === 'truncateLayer') return () => truncation.truncateLayer(layer);
  if (type === 'truncateOrphans') return () => truncation.truncateOrphans(layer);
  if (type === 'truncateParameters') {
    const parameters = parametersField(root) ?? new Map<string, string>();
    return () => truncation.truncateParameters(layer, parameters);
  }
  const coords = present(root, 'bounds', coordsField(root, 'bounds'));
  const extent = { type, layer, gridSetId: required(root, 'gridSetId'), coords };
  return () => truncation.truncateExtent(extent, by);
}

function required(root: WireElement, name: string): string {
  return present(root, name, textField(root, name));
}

function readRoot(body: Buffer, format: DocumentFormat): WireElement {
  try {
    return readDocument(body, format);
  } catch (error) {
    if (isTilewardenError(error, 'request-invalid')) throw refused(error.message);
    throw error;
  }
}

function refused(reason: string): TilewardenError {
  return invalid(`${reason}; there are ${keysOf(FIELDS).join(', ')}.`);
}
