import { describe, expect, it } from 'vitest';
import { createTestApp } from '../../../test/fixtures/http-app.ts';
import { everyRoute } from '../../../test/security/every-route.ts';
import { openApiDocument } from './openapi.ts';

/** Without the route that only refuses unknown formats. */
const OURS = /^\/(api\/v1|rest)\/(?!diskquota\.\{format\})/;

describe('the document of the interface', () => {
  it('the OpenAPI document has every route below /api/v1 and /rest, with its role', () => {
    const routes = everyRoute().filter(({ path }) => OURS.test(path));
    const { paths } = openApiDocument(routes, '');
    for (const { method, path, role } of routes) {
      const operation = paths[path]?.[method.toLowerCase()] as { description: string } | undefined;
      expect(operation?.description, `${method} ${path}`).toBe(
        role === 'public' ? 'Open to anybody.' : `Needs the role ${role}.`,
      );
    }
  });

  it('the OpenAPI document is served, with the address of the request', async () => {
    const { request } = createTestApp();
    const answer = await request('GET', '/geowebcache/api/v1/openapi.json');
    expect(answer.status).toBe(200);
    const document = JSON.parse(answer.text) as { openapi: string; servers: object; paths: object };
    expect(document).toMatchObject({
      openapi: '3.1.0',
      servers: [{ url: 'http://localhost/geowebcache' }],
      paths: {
        '/api/v1/layers/{layer}': { get: { parameters: [{ name: 'layer', in: 'path', required: true }] } },
        '/api/v1/openapi.json': { get: { summary: 'This document' } },
      },
    });
  });
});
