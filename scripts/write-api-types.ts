// npm run web:types: writes the types of the HTTP interface that the console is built with.
import { writeFileSync } from 'node:fs';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { openApiDocument } from '../src/http/api/openapi.ts';
import { DESCRIPTIONS } from '../src/http/api/openapi-book.ts';
import { everyRoute } from '../test/security/every-route.ts';

const file = new URL('../web/src/api-types.ts', import.meta.url);

/** Of the routes that are described: a new one does not change the console's types before it says what it answers. */
export async function apiTypes(): Promise<string> {
  const described = everyRoute().filter(
    ({ method, path }) => path.startsWith('/api/v1/') && DESCRIPTIONS[`${method} ${path}`] !== undefined,
  );
  const document = openApiDocument(described, '');
  const answers = JSON.stringify(document, (key, value) => (/^[45]\d\d$/.test(key) ? undefined : value));
  return `// Written by npm run web:types.\n${astToString(await openapiTypescript(answers))}`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(file, await apiTypes());
