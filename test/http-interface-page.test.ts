import { expect, it } from 'vitest';
import { openApiDocument } from '../src/http/api/openapi.ts';
import { everyRoute } from './security/every-route.ts';

const HEAD = `# HTTP interface

Everything the console does can be scripted with these requests. \`/api/v1/openapi.json\` of your server describes their
parameters, bodies and answers (OpenAPI 3.1), for viewers such as Swagger UI and for generators of clients.
[Security](security.md) has the roles and how to sign in.
`;

interface Operation {
  readonly summary: string;
  readonly tags: readonly string[];
}

it('docs/http-interface.md lists every route of the HTTP interface (vitest -u writes it)', async () => {
  const routes = everyRoute();
  const chapters = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(openApiDocument(routes, '').paths)) {
    for (const [name, operation] of Object.entries(operations)) {
      const { summary, tags } = operation as Operation;
      const method = name.toUpperCase();
      const role = routes.find((route) => route.path === path && route.method === method)?.role;
      const [tag = ''] = tags;
      const lines = chapters.get(tag) ?? [
        `\n## ${tag}\n`,
        '| Request | Role | What |',
        '| --- | --- | --- |',
      ];
      chapters.set(tag, [...lines, `| \`${method} ${path}\` | ${role} | ${summary} |`]);
    }
  }
  const page = `${HEAD}${[...chapters.values()].flat().join('\n')}\n`;
  await expect(page).toMatchFileSnapshot('../docs/http-interface.md');
});
