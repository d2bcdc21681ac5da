// npm run web:types: writes the types of the HTTP interface that the console is built with.
import { writeFileSync } from 'node:fs';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { openApiDocument } from '../src/http/api/openapi.ts';
import { DESCRIPTIONS } from '../src/http/api/openapi-book.ts';
import { everyRoute } from '../test/security/every-route.ts';

const file = new URL('../web/src/api-types.ts', import.meta.url);

/**
 * Answers to `GET` by path, and bodies by method and path, of the routes that are described; without remarks, which
 * `openapi.json` has.
 */
export async function apiTypes(): Promise<string> {
  const described = everyRoute().filter(
    ({ method, path }) => path.startsWith('/api/v1/') && DESCRIPTIONS[`${method} ${path}`] !== undefined,
  );
  const { paths, ...document } = JSON.parse(
    JSON.stringify(openApiDocument(described, ''), (key, value) =>
      /^(description|format)$/.test(key) && typeof value === 'string' ? undefined : value,
    ),
  ) as { readonly paths: Readonly<Record<string, Operations>> };
  const schemas = Object.entries(paths).flatMap(([path, operations]) => [
    ...named(path, operations.get?.responses['200']),
    ...named(`POST ${path}`, operations.post?.requestBody),
    ...named(`PUT ${path}`, operations.put?.requestBody),
  ]);
  const types = { ...document, paths: {}, components: { schemas: Object.fromEntries(schemas) } };
  // What has a default may be left out of a body.
  const written = await openapiTypescript(JSON.stringify(types), { defaultNonNullable: false });
  return `// Written by npm run web:types.\n${astToString(written)}`;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface Operation {
  readonly responses: Readonly<Record<string, Content>>;
  readonly requestBody?: Content;
}

type Operations = Readonly<Partial<Record<'get' | 'post' | 'put', Operation>>>;

function named(name: string, described: Content | undefined): readonly (readonly [string, object])[] {
  const schema = described?.content?.['application/json']?.schema;
  return schema ? [[name, schema]] : [];
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(file, await apiTypes());
