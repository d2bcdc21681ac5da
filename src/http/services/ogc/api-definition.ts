import type { Route } from '../../route.ts';

const ROOT = '/ogc';

/** Names of path parameters in OGC 20-057. */
const NAMES: Readonly<Record<string, string>> = {
  layer: 'collectionId',
  gridSet: 'tileMatrixSetId',
  matrix: 'tileMatrix',
  row: 'tileRow',
  column: 'tileCol',
  style: 'styleId',
};

export interface OgcRoute extends Route {
  readonly summary: string;
  /** The content of a 200. */
  readonly gives: 'document' | 'tile';
}

const PROBLEM = { $ref: '#/components/responses/Problem' };

/** OpenAPI 3.0, derived from the routes. */
export function describeApi(base: string, routes: readonly OgcRoute[]): object {
  const described = routes.filter(({ path }) => !path.endsWith('/'));
  return {
    openapi: '3.0.3',
    info: {
      title: 'Tilewarden, OGC API – Tiles',
      version: '1.0.0',
      description: 'Map tiles from a cache. Parameters that a layer knows go into the query.',
    },
    servers: [{ url: `${base}${ROOT}` }],
    paths: Object.fromEntries(described.map((route) => [pathOf(route), { get: operationOf(route) }])),
    components: {
      parameters: { f: FORMAT_PARAMETER },
      responses: {
        Problem: {
          description: 'What is wrong, by RFC 9457',
          content: { 'application/problem+json': { schema: { type: 'object' } } },
        },
      },
    },
  };
}

const FORMAT_PARAMETER = {
  name: 'f',
  in: 'query',
  description:
    'The form of the answer, before what the Accept header says: json or html; png, jpeg, … for tiles',
  schema: { type: 'string' },
};

function pathOf({ path }: OgcRoute): string {
  const rest = path.slice(ROOT.length).replace(/\{(\w+)\}/g, (_, name: string) => `{${NAMES[name] ?? name}}`);
  return rest === '' ? '/' : rest;
}

function operationOf(route: OgcRoute): object {
  const inPath = Array.from(route.path.matchAll(/\{(\w+)\}/g), ([, name = '']) => ({
    name: NAMES[name] ?? name,
    in: 'path',
    required: true,
    schema: { type: name === 'row' || name === 'column' ? 'integer' : 'string' },
  }));
  return {
    summary: route.summary,
    operationId: `get${pathOf(route).replace(/[/{}]+(\w?)/g, (_, letter: string) => letter.toUpperCase()) || 'Landing'}`,
    parameters: [...inPath, { $ref: '#/components/parameters/f' }],
    responses: { 200: successOf(route), 400: PROBLEM, 404: PROBLEM, 406: PROBLEM, default: PROBLEM },
  };
}

function successOf({ gives }: OgcRoute): object {
  if (gives === 'tile') {
    const binary = { schema: { type: 'string', format: 'binary' } };
    return { description: 'The tile', content: { 'image/*': binary } };
  }
  return {
    description: 'The document',
    content: {
      'application/json': { schema: { type: 'object' } },
      'text/html': { schema: { type: 'string' } },
    },
  };
}
