import { type Caller, mayWorkOnAll } from '../../access/caller.ts';
import { invalid, isTilewardenError, shortened, type TilewardenError } from '../../domain/errors.ts';
import { type DocumentFormat, readDocument } from '../../geowebcache/read-document.ts';
import {
  bodyProblem,
  coordsField,
  refuseUnknownFields,
  requireFields,
  textField,
  type WireElement,
} from '../../geowebcache/wire-element.ts';
import { element, writeXml } from '../../lib/xml/write-xml.ts';
import type { MassTruncation } from '../../tasks/mass-truncation.ts';
import type { TaskAuthor } from '../../tasks/task-author.ts';
import type { ApiDeps, Call } from '../api/api-route.ts';
import { BODY_TYPES, FORM, requireMediaType } from '../auth/request-body.ts';
import { requireLayerScope } from '../auth/request-checks.ts';
import { authorIn } from '../context.ts';
import { html, pageResponse } from '../pages/html.ts';
import { HttpProblem } from '../problems.ts';
import { textResponse } from '../response.ts';
import { parametersField, refuseEmptyParameters } from './seed-request.ts';

const JSON_TYPE = 'application/json';
const MAX_NAMED = 100;

/** Sections 2.3, 2.4 and 4.4 of the specification. Responds when no reader sees the tiles any longer. */
export async function massTruncate({ context, caller, note }: Call, { catalog, massTruncation }: ApiDeps) {
  const mediaType = requireMediaType(context.headers, [...BODY_TYPES.xml, JSON_TYPE]);
  const body = mediaType === FORM ? unpackForm(context.body) : context.body;
  const request = readMassTruncateRequest(body, mediaType === JSON_TYPE ? 'json' : 'xml');
  const target = request.type === 'truncateAll' ? 'every layer' : `layer:${request.layer}`;
  note({ target, after: { type: request.type } });
  requireScope(caller, request);
  if (request.type !== 'truncateAll' && !catalog.layer(request.layer)) {
    throw invalid(`Could not find layer ${request.layer}`);
  }
  const emptied = await carryOut(massTruncation, request, authorIn({ caller }));
  return emptied && mediaType === FORM ? allPage(emptied) : textResponse(200, '');
}

/**
 * `curl -d` declares its body as a form, and sends it unchanged. GeoWebCache's own page sends a form: a field named
 * `<truncateAll>` with the value `</truncateAll>`.
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

/** Returns the names of the layers, if all were truncated. */
async function carryOut(
  truncation: MassTruncation,
  request: MassTruncateRequest,
  by: TaskAuthor,
): Promise<readonly string[] | null> {
  if (request.type === 'truncateAll') return truncation.truncateAll();
  if (request.type === 'truncateLayer') await truncation.truncateLayer(request.layer);
  if (request.type === 'truncateOrphans') await truncation.truncateOrphans(request.layer);
  if (request.type === 'truncateParameters') {
    await truncation.truncateParameters(request.layer, request.parameters);
  }
  if (request.type === 'truncateExtent') await truncation.truncateExtent(request, by);
  return null;
}

function requireScope(caller: Caller, request: MassTruncateRequest): void {
  if (request.type !== 'truncateAll') requireLayerScope(caller, request.layer);
  if (request.type !== 'truncateAll' || mayWorkOnAll(caller)) return;
  throw new HttpProblem('forbidden', `${caller.name} may not work on every layer.`);
}

export function listTruncations({ context }: Call) {
  const { baseUrl, target, headers } = context;
  const accept = headers.accept ?? '';
  const asTextXml = /\btext\/xml\b/i.test(accept) && !/\bapplication\/xml\b/i.test(accept);
  return {
    status: 200,
    headers: ['Content-Type', asTextXml ? 'text/xml' : 'application/xml'],
    body: writeMassTruncateTypes(`${baseUrl}${target.path.slice(target.prefix.length)}`),
  };
}

/** In the order in which they are listed; section 2.3 of the specification has the first. */
const MASS_TRUNCATE_TYPES = [
  'truncateLayer',
  'truncateParameters',
  'truncateOrphans',
  'truncateExtent',
  'truncateAll',
] as const;

type MassTruncateType = (typeof MASS_TRUNCATE_TYPES)[number];

const FIELDS: Readonly<Record<MassTruncateType, readonly string[]>> = {
  truncateLayer: ['layerName'],
  truncateParameters: ['layerName', 'parameters'],
  truncateOrphans: ['layerName'],
  truncateExtent: ['layerName', 'gridSetId', 'bounds'],
  truncateAll: [],
};

type MassTruncateRequest =
  | { readonly type: 'truncateAll' }
  | { readonly type: 'truncateLayer' | 'truncateOrphans'; readonly layer: string }
  | {
      readonly type: 'truncateParameters';
      readonly layer: string;
      readonly parameters: ReadonlyMap<string, string>;
    }
  | {
      readonly type: 'truncateExtent';
      readonly layer: string;
      readonly gridSetId: string;
      readonly coords: readonly number[];
    };

function readMassTruncateRequest(body: Buffer, format: DocumentFormat): MassTruncateRequest {
  const root = readRoot(body, format);
  const type = MASS_TRUNCATE_TYPES.find((known) => known === root.name);
  if (!type) throw refused(`There is no request ${shortened(root.name)}`);
  requireFields(root);
  refuseUnknownFields(root, FIELDS[type]);
  refuseEmptyParameters(root);
  if (type === 'truncateAll') return { type };
  const layer = required(root, 'layerName');
  if (type === 'truncateParameters') return { type, layer, parameters: parametersField(root) ?? new Map() };
  if (type !== 'truncateExtent') return { type, layer };
  const coords = present(root, 'bounds', coordsField(root, 'bounds'));
  return { type, layer, gridSetId: required(root, 'gridSetId'), coords };
}

function writeMassTruncateTypes(href: string): string {
  const types = MASS_TRUNCATE_TYPES.map((type) => element('requestType', type));
  return writeXml(element('massTruncateRequests', types, { href }));
}

function required(root: WireElement, name: string): string {
  return present(root, name, textField(root, name));
}

function present<Value>(root: WireElement, name: string, value: Value | undefined): Value {
  if (value !== undefined) return value;
  throw bodyProblem(`${name} is missing`, root.place);
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
  return invalid(`${reason}; there are ${MASS_TRUNCATE_TYPES.join(', ')}.`);
}
