import { expect, it } from 'vitest';
import { startServer } from '../e2e/server.ts';
import { openMockWmts } from '../fixtures/mock-sources.ts';
import { whenOver } from '../fixtures/when-over.ts';

it('capabilities of a WMTS cannot send requests to an internal host of another layer', async () => {
  const [hostile, victim] = [await openMockWmts(), await openMockWmts()];
  whenOver(() => Promise.all([hostile.close(), victim.close()]));
  const capabilities = await (await fetch(hostile.documentUrl)).text();
  hostile.capabilities = {
    status: 200,
    headers: { 'content-type': 'application/xml' },
    body: capabilities.replaceAll(hostile.origin, victim.origin),
  };
  const source = (url: string) => ({ type: 'wmts', url, layer: 'roads' });
  const server = await startServer({
    config: JSON.stringify({
      layers: [
        { name: 'open', source: source(hostile.documentUrl), gridSets: ['WebMercatorQuad'] },
        { name: 'closed', access: 'admin', source: source(victim.url), gridSets: ['WebMercatorQuad'] },
      ],
      upstreams: { [new URL(victim.origin).host]: { allowPrivate: true } },
    }),
  });
  const picture = await fetch(`${server.url}/tiles/open/0/0/0.png`);
  expect(picture.status).toBe(502);
  expect(victim.requests).toEqual([]);
});
