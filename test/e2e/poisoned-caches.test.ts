import { describe, expect, it } from 'vitest';
import { snippetOf } from '../fixtures/configurations.ts';
import { needs } from '../fixtures/needs.ts';
import { openNginx } from '../fixtures/nginx.ts';
import { rawRequest } from '../security/raw-request.ts';
import { openServer } from './server-in-process.ts';

const DOCUMENTS = [
  '/tiles/land.json',
  '/ogc/collections/land',
  '/ogc/?f=html',
  '/service/wmts?REQUEST=GetCapabilities',
  '/service/tms/1.0.0',
  '/layers/land',
];
const FORGED = {
  'X-Forwarded-Host': 'evil.example',
  'X-Forwarded-Prefix': '/evil.example',
  'X-Forwarded-Proto': 'https',
};

function configuration(publicUrl?: string): string {
  return JSON.stringify({
    server: { trustedProxies: ['127.0.0.1'], ...(publicUrl && { publicUrl }) },
    layers: [{ name: 'land', source: { type: 'world' } }],
  });
}

/** Each document after one request with forged headers, and one for another host. */
async function documentsAfterForgery(front: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const path of DOCUMENTS) {
    await (await fetch(front + path, { headers: FORGED })).text();
    await rawRequest(front, `GET ${path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`);
    const answer = await fetch(front + path);
    expect([path, answer.status]).toEqual([path, 200]);
    texts.push(await answer.text());
  }
  return texts;
}

describe('documents behind a cache', needs('nginx'), () => {
  it.each([
    ['docs/cdn.md', () => snippetOf('cdn', 'nginx', '')],
    ['docs/recipes/nginx.md', () => snippetOf('nginx', 'nginx')],
    [
      'docs/cdn.md that caches everything',
      () => snippetOf('cdn', 'nginx', '').replace(/ *proxy_(set_header X|cache_key).*\n/g, ''),
    ],
  ])('forged headers do not reach other clients with nginx of %s', async (_, recipe) => {
    const server = await openServer({ config: configuration() });
    const front = await openNginx(recipe(), server.url);
    for (const text of await documentsAfterForgery(front)) {
      expect(text).toContain(front);
      expect(text).not.toContain('evil.example');
    }
  });

  it('documents have the public address of the settings, whatever a request names', async () => {
    const publicUrl = 'https://maps.example.org/cache';
    const { url } = await openServer({ config: configuration(publicUrl) });
    for (const path of DOCUMENTS) {
      const answer = await fetch(url + path, { headers: FORGED });
      const text = await answer.text();
      expect(text, path).toContain(publicUrl);
      expect(text, path).not.toMatch(/evil\.example|127\.0\.0\.1/);
      expect(answer.headers.get('vary') ?? '', path).not.toContain('Forwarded');
    }
    const prefixed = await (await fetch(`${url}/geowebcache/tiles/land.json`)).text();
    expect(prefixed).toContain(`${publicUrl}/geowebcache/tiles/land`);
  });
});
