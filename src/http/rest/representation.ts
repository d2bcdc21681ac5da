import { type DocumentNode, writeDocument } from '../../geowebcache/document-node.ts';
import { type DocumentFormat, readDocument } from '../../geowebcache/read-document.ts';
import type { WireElement } from '../../geowebcache/wire-element.ts';
import { inTurns } from '../../lib/in-turns.ts';
import { writeJson } from '../../lib/write-json.ts';
import { element, writeXml } from '../../lib/xml/write-xml.ts';
import type { Answer, Headers } from '../answer.ts';
import { FORM, requireMediaType } from '../door/request-body.ts';
import type { Exchange } from '../exchange.ts';
import type { Handler, Method, Route, RouteDescription, RouteRole } from '../route.ts';

export interface Resource {
  /** E.g. `/rest/layers/{layer}`. */
  readonly path: string;
  readonly role: (method: Method) => RouteRole;
  /** What it is, e.g. `a layer`, for the description of the interface. */
  readonly what: string;
  readonly handlers: Readonly<
    Partial<Record<Method, (exchange: Exchange, format: DocumentFormat) => Answer | Promise<Answer>>>
  >;
}

const XML = ['application/xml', 'text/xml'];
const JSON_TYPES = ['application/json', 'text/json'];

/** At its path, and with `.xml` and `.json`, which go first: the last ending is never part of a name. */
export function resourceRoutes({ path, role, what, handlers }: Resource): readonly Route[] {
  return (['xml', 'json', null] as const).flatMap((ending) =>
    Object.entries(handlers).map(([name, handler]): Route => {
      const method = name as Method;
      const answer: Handler = (exchange) => handler(exchange, ending ?? formatAsked(exchange));
      const describe = describeMethod(method, what, ending);
      return {
        method,
        path: ending ? `${path}.${ending}` : path,
        role: role(method),
        handler: answer,
        describe,
      };
    }),
  );
}

const VERBS: Readonly<Record<Method, string>> = {
  GET: 'Show',
  PUT: 'Create or change',
  POST: 'Change',
  DELETE: 'Remove',
};

function describeMethod(method: Method, what: string, ending: DocumentFormat | null): RouteDescription {
  const types = { xml: XML, json: ['application/json'] };
  const bodyTypes = ending ? types[ending] : [...XML, ...types.json];
  const summary = `${VERBS[method]} ${what}`;
  if (method === 'GET') return { summary, answerType: types[ending ?? 'xml'][0] ?? '' };
  return { summary, answerType: 'text/plain', ...(method !== 'DELETE' && { bodyTypes }) };
}

/** `?format=json`, or what `Accept` would rather have; XML by default. */
function formatAsked({ query, headers }: Exchange): DocumentFormat {
  const named = new URLSearchParams(query).get('format');
  if (named === 'json' || named === 'xml') return named;
  const accepted = headers.accept ?? '';
  const [json, xml] = [accepted.search(/\bjson\b/i), accepted.search(/\bxml\b/i)];
  return json >= 0 && (xml < 0 || json < xml) ? 'json' : 'xml';
}

/** The body says what it is; what `curl -d` sends without a word of it is read as the path ends. */
export function readRoot(exchange: Exchange, format: DocumentFormat): WireElement {
  const type = requireMediaType(exchange.headers, [...XML, ...JSON_TYPES, FORM]);
  const said = type === null || type === FORM ? format : XML.includes(type) ? 'xml' : 'json';
  return readDocument(exchange.body, said);
}

export function documentAnswer(root: DocumentNode, format: DocumentFormat): Answer {
  return { status: 200, headers: typeOf(format), body: writeDocument(root, format) };
}

/** Names, each with the address of what bears it. There may be thousands, so they are written in turns. */
export async function listAnswer(
  exchange: Exchange,
  format: DocumentFormat,
  { names, entry, path }: { readonly names: Iterable<string>; readonly entry: string; readonly path: string },
): Promise<Answer> {
  if (format === 'json') return { status: 200, headers: typeOf(format), body: writeJson([...names]) };
  const entryOf = (name: string) => {
    const href = `${exchange.baseUrl}${path}/${encodeURIComponent(name).replaceAll('%3A', ':')}.xml`;
    const link = element('atom:link', [], {
      'xmlns:atom': 'http://www.w3.org/2005/Atom',
      rel: 'alternate',
      href,
      type: 'text/xml',
    });
    return element(entry, [element('name', name), link]);
  };
  function* written() {
    for (const name of names) yield writeXml(entryOf(name));
  }
  const entries = await inTurns(written());
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<${entry}s>${entries.join('')}</${entry}s>`;
  return { status: 200, headers: typeOf(format), body };
}

function typeOf(format: DocumentFormat): Headers {
  return ['Content-Type', format === 'xml' ? 'application/xml' : 'application/json'];
}
