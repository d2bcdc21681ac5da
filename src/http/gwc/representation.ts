/** Routes, requests and responses of GeoWebCache's resources, in XML and JSON. */
import { type DocumentNode, writeDocument } from '../../geowebcache/document-node.ts';
import { type DocumentFormat, readDocument } from '../../geowebcache/read-document.ts';
import type { WireElement } from '../../geowebcache/wire-element.ts';
import { element, writeXml } from '../../lib/xml/write-xml.ts';
import { collectYielding } from '../../lib/yielding.ts';
import {
  type ApiDeps,
  type ApiRoute,
  type Call,
  type ParamsIn,
  route,
  type Shape,
} from '../api/api-route.ts';
import { FORM, requireMediaType } from '../auth/request-checks.ts';
import type { Context } from '../context.ts';
import { contentResponse, jsonResponse, type Response } from '../response.ts';
import type { Method, RouteRole } from '../route.ts';

const XML = ['application/xml', 'text/xml'];
const JSON_TYPES = ['application/json', 'text/json'];

const VERBS: Readonly<Record<Method, string>> = {
  GET: 'Show',
  PUT: 'Create or change',
  POST: 'Change',
  DELETE: 'Remove',
};

type ResourceHandler<Path extends string> = (
  call: Call<{ readonly params: ParamsIn<Path> }>,
  deps: ApiDeps,
  format: DocumentFormat,
) => unknown;

/**
 * Routes of a resource: its path with `.xml` and `.json`, then without, so that a final ending is never part of a name.
 * `noun`, e.g. `a layer`, is part of the summary.
 */
export function resource<const Path extends `/${string}`>(
  path: Path,
  noun: string,
  methods: Readonly<Partial<Record<Method, readonly [RouteRole, ResourceHandler<Path>]>>>,
): readonly ApiRoute[] {
  return (['xml', 'json', null] as const).flatMap((ending) =>
    Object.entries(methods).map(([name, [role, handler]]) => {
      const method = name as Method;
      const entry = `${method} ${path}${ending ? `.${ending}` : ''}` as `${Method} /`;
      return route(entry, role, `${VERBS[method]} ${noun}`, callShape(method, ending), (call: Call, deps) =>
        handler(call as Parameters<typeof handler>[0], deps, ending ?? documentFormat(call.context)),
      );
    }),
  );
}

function callShape(method: Method, ending: DocumentFormat | null): Shape {
  const types = { xml: XML, json: ['application/json'] };
  const bodyTypes = ending ? types[ending] : [...XML, ...types.json];
  if (method === 'GET') return { answerType: types[ending ?? 'xml'][0] ?? '' };
  return { answerType: 'text/plain', ...(method !== 'DELETE' && { bodyTypes }) };
}

/** By `?format=`, otherwise by the order of JSON and XML in `Accept`; XML by default. */
function documentFormat({ query, headers }: Context): DocumentFormat {
  const named = new URLSearchParams(query).get('format');
  if (named === 'json' || named === 'xml') return named;
  const accepted = headers.accept ?? '';
  const [json, xml] = [accepted.search(/\bjson\b/i), accepted.search(/\bxml\b/i)];
  return json >= 0 && (xml < 0 || json < xml) ? 'json' : 'xml';
}

/** Reads the body by its `Content-Type`, or as `format` if that is absent or a form, the default of `curl -d`. */
export function readRoot(context: Context, format: DocumentFormat): WireElement {
  const type = requireMediaType(context.headers, [...XML, ...JSON_TYPES, FORM]);
  const bodyFormat = type === null || type === FORM ? format : XML.includes(type) ? 'xml' : 'json';
  return readDocument(context.body, bodyFormat);
}

export function documentResponse(root: DocumentNode, format: DocumentFormat): Response {
  return contentResponse(`application/${format}`, writeDocument(root, format));
}

/** Names, in XML with their addresses. Yields to the event loop: there may be thousands. */
export async function listResponse(
  context: Context,
  format: DocumentFormat,
  items: readonly { readonly name: string }[],
  entry: string,
  path: string,
): Promise<Response> {
  if (format === 'json') return jsonResponse(items.map(({ name }) => name));
  const listEntry = (name: string) => {
    const href = `${context.baseUrl}${path}/${encodeURIComponent(name).replaceAll('%3A', ':')}.xml`;
    const link = element('atom:link', [], {
      'xmlns:atom': 'http://www.w3.org/2005/Atom',
      rel: 'alternate',
      href,
      type: 'text/xml',
    });
    return element(entry, [element('name', name), link]);
  };
  function* written() {
    for (const { name } of items) yield writeXml(listEntry(name));
  }
  const entries = await collectYielding(written());
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<${entry}s>${entries.join('')}</${entry}s>`;
  return contentResponse('application/xml', body);
}
