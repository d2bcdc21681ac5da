import type { CatalogEditor, EntryChanged } from '../../catalog/catalog-editor.ts';
import type { EntryKind } from '../../catalog/catalog-entries.ts';
import type { Fate } from '../../catalog/change-effects.ts';
import { invalid, TilewardenError } from '../../domain/errors.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { callerName, type Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import { readJson } from '../wire/read-body.ts';
import { NOTHING } from './users.ts';

/** Tile sets named in an answer; of more only the numbers are told. */
const NAMED_IN_ANSWER = 100;

/** `POST`, `PUT` and `DELETE` of `/api/v1/layers` and `/api/v1/gridsets`: declaring at run time. */
export function catalogChangeRoutes(editor: CatalogEditor): readonly Route[] {
  return [
    ...changesOf('layer', '/api/v1/layers', 'layer'),
    ...changesOf('grid-set', '/api/v1/gridsets', 'gridSet'),
  ];

  function changesOf(kind: EntryKind, path: string, parameter: string): readonly Route[] {
    const one = `${path}/{${parameter}}`;
    const common = { role: 'admin', asksOnly: isDryRun } as const;
    return [
      { method: 'POST', path, ...common, handler: (exchange) => create(kind, path, exchange) },
      {
        method: 'PUT',
        path: one,
        ...common,
        handler: (exchange) => put(kind, exchange.param(parameter), path, exchange),
      },
      {
        method: 'DELETE',
        path: one,
        ...common,
        handler: (exchange) => remove(kind, exchange.param(parameter), exchange),
      },
    ];
  }

  async function create(kind: EntryKind, path: string, exchange: Exchange): Promise<Answer> {
    const document = readJson(exchange);
    const options = { by: callerName(exchange), dryRun: isDryRun(exchange), expected: null };
    try {
      return changed(await editor.put(kind, document, options), path, exchange);
    } catch (error) {
      if (!(error instanceof TilewardenError) || error.code !== 'entry-changed') throw error;
      throw new TilewardenError('entry-conflict', 'The name is taken; change what is there with PUT.');
    }
  }

  async function put(kind: EntryKind, name: string, path: string, exchange: Exchange): Promise<Answer> {
    const document = withName(readJson(exchange), name);
    const options = { by: callerName(exchange), dryRun: isDryRun(exchange), ...expectedBy(exchange) };
    return changed(await editor.put(kind, document, options), path, exchange);
  }

  async function remove(kind: EntryKind, name: string, exchange: Exchange): Promise<Answer> {
    const dryRun = isDryRun(exchange);
    const change = await editor.remove(kind, name, {
      by: callerName(exchange),
      dryRun,
      ...expectedBy(exchange),
    });
    if (dryRun) return jsonAnswer(changeDocument(change));
    exchange.change = { target: `${kind}:${name}`, after: { removed: true } };
    return NOTHING;
  }

  function changed(change: EntryChanged, path: string, exchange: Exchange): Answer {
    if (change.version === null) return jsonAnswer(changeDocument(change));
    exchange.change = { target: `${change.kind}:${change.name}`, after: { document: change.document } };
    const location = `${exchange.baseUrl}${path}/${encodeURIComponent(change.name)}`;
    const headers = ['ETag', entityTag(change.version), ...(change.created ? ['Location', location] : [])];
    return jsonAnswer(changeDocument(change), headers, change.created ? 201 : 200);
  }
}

export function entityTag(version: number): string {
  return `"v${version}"`;
}

function isDryRun({ query }: Pick<Exchange, 'query'>): boolean {
  const asked = new URLSearchParams(query).getAll('dryRun');
  if (asked.length === 0) return false;
  if (asked.length === 1 && (asked[0] === 'true' || asked[0] === 'false')) return asked[0] === 'true';
  throw invalid('dryRun must be true or false.');
}

/** `If-Match: "v7"` guards against lost updates, `If-None-Match: *` against replacing. */
function expectedBy({ headers }: Pick<Exchange, 'headers'>): { readonly expected?: number | null } {
  if (headers['if-none-match'] === '*') return { expected: null };
  const tag = headers['if-match'];
  if (tag === undefined || tag === '*') return {};
  const version = /^"v(\d{1,15})"$/.exec(tag)?.[1];
  if (version === undefined)
    throw new HttpProblem('header-invalid', 'If-Match must be an ETag of this resource, such as "v7".');
  return { expected: Number(version) };
}

/** The name may be left out of the body; another one than the address has is a slip. */
function withName(document: unknown, name: string): unknown {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return document;
  const given = 'name' in document ? document.name : name;
  if (given === name) return { ...document, name };
  throw invalid(`name must be ${name}, as in the address, or be left out.`);
}

function changeDocument({ name, version, document, tileSets }: EntryChanged): object {
  const count = (fate: Fate) => tileSets.filter((affected) => affected.fate === fate).length;
  const named = tileSets.filter(({ fate }) => fate !== 'kept').slice(0, NAMED_IN_ANSWER);
  return {
    name,
    version,
    document,
    tileSets: { kept: count('kept'), truncated: count('truncated'), orphaned: count('orphaned') },
    affected: named.map(({ set, fate }) => ({ ...set, fate })),
  };
}
