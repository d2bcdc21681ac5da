/** Writes the OpenAPI 3.1 document of the administrative routes, `/api/v1/openapi.json`. */
import { z } from 'zod';
import { remembered } from '../../lib/get-or-create.ts';
import { createPace } from '../../lib/yielding.ts';
import type { Route, RouteDescription } from '../route.ts';
import type { ApiDeps, Call } from './api-route.ts';

/** Paths of the administrative interface. Paths with `{format}` only refuse unknown formats. */
const ADMINISTERED = /^\/(api\/v1|rest|masstruncate|diskquota)\b(?!.*\.\{format\})/;
const PROBLEMS: Readonly<Record<string, string>> = {
  '400': 'The request is invalid; the text has the reason.',
  '401': 'Credentials are missing or wrong.',
  '403': 'The caller may not do this.',
  '404': 'It does not exist.',
  '412': 'It was changed in the meantime (If-Match); the change is not applied.',
};

/** Converting all schemas takes some 90 ms: they are converted once, a few in a turn. */
export async function showOpenApi({ context }: Call, { routes }: ApiDeps) {
  const pace = createPace(10);
  for (const route of routes()) {
    describeOperation(route);
    await pace(1);
  }
  return openApiDocument(routes(), context.baseUrl);
}

export function openApiDocument(routes: readonly Route[], server: string) {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const { method, path } = route;
    const operation = describeOperation(route);
    if (operation) paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tilewarden',
      version: 'v1',
      description: 'Administers a cache of map tiles. A problem is reported as one line of text.',
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

const describeOperation = remembered((route: Route): object | null => {
  const { path, role, describe: about } = route;
  if (!about || !ADMINISTERED.test(path)) return null;
  return {
    summary: about.summary,
    tags: [tagOf(path)],
    description: role === 'public' ? 'Open to anybody.' : `Needs the role ${role}.`,
    ...(role === 'public' && { security: [] }),
    parameters: [...pathParameters(path), ...queryParameters(about), ...conditions(route, about)],
    ...requestBody(about),
    responses: { ...describeResponses(about), ...describeProblems(route, about) },
  };
});

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

/** `If-Match`: RFC 9110, 13.1.1. */
function conditions({ method }: Route, { versioned }: RouteDescription): object[] {
  if (!versioned || method === 'GET') return [];
  const description =
    'The ETag that the change is based on; without it the change is applied unconditionally';
  return [{ name: 'If-Match', in: 'header', required: false, schema: { type: 'string' }, description }];
}

function requestBody({ body, bodyTypes, plainBody }: RouteDescription): object {
  if (!body && !bodyTypes) return {};
  const schema = body ? schemaOf(body, 'input') : {};
  const types = bodyTypes ?? ['application/json'];
  const plain = plainBody && { 'text/plain': { schema: { type: 'string', description: plainBody } } };
  return {
    requestBody: {
      required: true,
      content: { ...Object.fromEntries(types.map((type) => [type, { schema }])), ...plain },
    },
  };
}

/** Status 204 with a schema: only a dry run has a body, with status 200. */
function describeResponses({ status = 200, ...about }: RouteDescription): object {
  if (status !== 204 || !about.answer) return { [status]: describeResponse(about) };
  return { 204: { description: 'Done.' }, 200: { ...describeResponse(about), description: 'With dryRun.' } };
}

function describeResponse({ answer, answerType, versioned }: RouteDescription): object {
  const described = {
    description: 'Done.',
    ...(versioned && { headers: { ETag: { schema: { type: 'string' } } } }),
  };
  const type = answer ? 'application/json' : answerType;
  const schema = answer ? schemaOf(answer, 'output') : {};
  return type ? { ...described, content: { [type]: { schema } } } : described;
}

function describeProblems({ role, path, method }: Route, { versioned }: RouteDescription): object {
  const codes = [
    '400',
    ...(role === 'public' ? [] : ['401', '403']),
    ...(path.includes('{') ? ['404'] : []),
    ...(versioned && method !== 'GET' ? ['412'] : []),
  ];
  const content = { 'text/plain': { schema: { type: 'string' } } };
  return Object.fromEntries(codes.map((code) => [code, { description: PROBLEMS[code], content }]));
}

function schemaOf(schema: z.ZodType | z.core.$ZodType, io: 'input' | 'output') {
  const { $schema: _, ...plain } = z.toJSONSchema(schema as z.ZodType, { io, unrepresentable: 'any' });
  return plain;
}
