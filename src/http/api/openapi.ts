import { z } from 'zod';
import { jsonAnswer } from '../answer.ts';
import type { Route } from '../route.ts';
import { DESCRIPTIONS } from './openapi-book.ts';
import type { RouteDescription } from './openapi-description.ts';

/** Below these lies what is administered; the rest are map services with standards of their own. */
const ADMINISTERED = /^\/(api\/v1|rest|masstruncate|diskquota)\b/;
const PROBLEMS: Readonly<Record<string, string>> = {
  '400': 'The request cannot be understood; the text says why.',
  '401': 'Credentials are missing or wrong.',
  '403': 'The caller may not do this.',
  '404': 'There is no such thing.',
};

/** `GET /api/v1/openapi.json`: the interface, from the same table and schemas that answer. */
export function openApiRoutes(routes: readonly Route[]): readonly Route[] {
  const own: Route = {
    method: 'GET',
    path: '/api/v1/openapi.json',
    role: 'viewer',
    handler: (exchange) => jsonAnswer(openApiDocument([...routes, own], exchange.baseUrl)),
  };
  return [own];
}

/** OpenAPI 3.1 of every route below which something is administered. */
export function openApiDocument(routes: readonly Route[], server: string) {
  const described = routes.filter(({ path }) => ADMINISTERED.test(path));
  const paths: Record<string, Record<string, object>> = {};
  for (const route of described) {
    const here = paths[route.path] ?? {};
    paths[route.path] = { ...here, [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tilewarden',
      version: 'v1',
      description: 'Administers a cache of map tiles. Problems are answered as one line of text.',
    },
    servers: [{ url: server === '' ? '/' : server }],
    security: [{ basic: [] }, { bearer: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic' },
        bearer: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'tilewarden' },
      },
    },
  };
}

export function descriptionOf(route: Route): RouteDescription {
  const name = `${route.method} ${route.path}`;
  return route.describe ?? DESCRIPTIONS[name] ?? { summary: name };
}

function operationOf(route: Route): object {
  const about = descriptionOf(route);
  return {
    summary: about.summary,
    tags: [about.tag ?? tagOf(route.path)],
    description: route.role === 'public' ? 'Open to anybody.' : `Needs the role ${route.role}.`,
    ...(route.role === 'public' && { security: [] }),
    parameters: [...pathParameters(route.path), ...queryParameters(about)],
    ...requestBody(about),
    responses: { [about.status ?? 200]: answerOf(about), ...problemsOf(route) },
  };
}

function tagOf(path: string): string {
  const [, first = '', , third = ''] = path.split('/');
  return first === 'api' ? third.replace(/\.json$/, '') : "GeoWebCache's interface";
}

function pathParameters(path: string): object[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  return names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters({ query }: RouteDescription): object[] {
  if (!query) return [];
  return Object.entries(query.shape).map(([name, field]) => {
    const { description, ...schema } = schemaOf(field, 'input');
    return { name, in: 'query', required: false, schema, ...(description ? { description } : {}) };
  });
}

function requestBody({ body, bodyTypes }: RouteDescription): object {
  if (!body && !bodyTypes) return {};
  const schema = body ? schemaOf(body, 'input') : {};
  const types = bodyTypes ?? ['application/json'];
  return {
    requestBody: { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }])) },
  };
}

function answerOf({ answer, answerType }: RouteDescription): object {
  const description = 'Done.';
  if (answer) return { description, content: { 'application/json': { schema: schemaOf(answer, 'output') } } };
  return answerType ? { description, content: { [answerType]: { schema: {} } } } : { description };
}

function problemsOf({ role, path }: Route): object {
  const codes = ['400', ...(role === 'public' ? [] : ['401', '403']), ...(path.includes('{') ? ['404'] : [])];
  const content = { 'text/plain': { schema: { type: 'string' } } };
  return Object.fromEntries(codes.map((code) => [code, { description: PROBLEMS[code], content }]));
}

function schemaOf(schema: z.ZodType | z.core.$ZodType, io: 'input' | 'output') {
  const { $schema: _, ...plain } = z.toJSONSchema(schema as z.ZodType, { io, unrepresentable: 'any' });
  return plain;
}
