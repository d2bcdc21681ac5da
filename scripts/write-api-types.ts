// npm run web:types: writes the types of the HTTP interface that the console is built with.
import { writeFileSync } from 'node:fs';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { openApiDocument } from '../src/http/api/openapi.ts';
import { DESCRIPTIONS } from '../src/http/api/openapi-book.ts';
import { everyRoute } from '../test/security/every-route.ts';

const file = new URL('../web/src/api-types.ts', import.meta.url);

/** Answers to `GET`, by path, of the routes that are described; without remarks, which `openapi.json` has. */
export async function apiTypes(): Promise<string> {
  const described = everyRoute().filter(
    ({ method, path }) =>
      method === 'GET' && path.startsWith('/api/v1/') && DESCRIPTIONS[`${method} ${path}`] !== undefined,
  );
  const { paths, ...document } = JSON.parse(
    JSON.stringify(openApiDocument(described, ''), (key, value) =>
      /^(description|format)$/.test(key) && typeof value === 'string' ? undefined : value,
    ),
  ) as { readonly paths: Readonly<Record<string, GetOnly>> };
  const schemas = Object.entries(paths).flatMap(([path, { get }]) => {
    const schema = get?.responses['200']?.content?.['application/json']?.schema;
    return schema ? [[path, schema] as const] : [];
  });
  const answers = { ...document, paths: {}, components: { schemas: Object.fromEntries(schemas) } };
  return `// Written by npm run web:types.\n${astToString(await openapiTypescript(JSON.stringify(answers)))}`;
}

interface GetOnly {
  readonly get?: {
    readonly responses: Readonly<
      Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
    >;
  };
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(file, await apiTypes());
