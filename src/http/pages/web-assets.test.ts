import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestApp } from '../../../test/fixtures/http-app.ts';
import { listWebAssets } from './web-assets.ts';

const SCRIPT = `${'const x = 1;\n'.repeat(200)}`;
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tilewarden-web-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>x</title>');
  await writeFile(join(folder, 'assets', 'index-1a2b3c4d.js'), SCRIPT);
  await mkdir(join(folder, 'docs'));
  await writeFile(join(folder, 'docs', 'index.html'), 'Contents');
  await writeFile(join(folder, 'docs', 'tasks.html'), 'Tasks');
  await writeFile(join(folder, 'notes.secret'), 'not part of the page');
});

afterEach(() => rm(folder, { recursive: true }));

describe('the page', () => {
  it.each(['/', '/geowebcache/', '/geoserver/gwc/', '/home', '/geowebcache/demo'])(
    'the page is shown at %s and runs only its own scripts',
    async (url) => {
      const { request } = createTestApp({ deps: { assets: await listWebAssets(folder) } });
      const answer = await request('GET', url);
      expect(answer.status).toBe(200);
      expect(answer.text).toContain('<title>x</title>');
      expect(answer.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
      });
      expect(answer.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
      expect(answer.headers['content-security-policy']).not.toContain('unsafe');
    },
  );

  it('the assets of the page are compressed, and browsers keep them for ever', async () => {
    const { inject } = createTestApp({ deps: { assets: await listWebAssets(folder) } });
    const answer = await inject({
      url: '/assets/index-1a2b3c4d.js',
      headers: { host: 'localhost', 'accept-encoding': 'br, gzip' },
    });
    expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(answer.rawPayload).toString()).toBe(SCRIPT);
  });

  it('a page is read with its first request, and then kept', async () => {
    const { request } = createTestApp({ deps: { assets: await listWebAssets(folder) } });
    await writeFile(join(folder, 'docs', 'tasks.html'), 'Read late');
    expect((await request('GET', '/docs/tasks.html')).text).toBe('Read late');
    await rm(join(folder, 'docs', 'tasks.html'));
    expect((await request('GET', '/docs/tasks.html')).text).toBe('Read late');
  });

  it('a web asset is not sent again to a client that has it', async () => {
    const { request } = createTestApp({ deps: { assets: await listWebAssets(folder) } });
    const { headers } = await request('GET', '/');
    const again = await request('GET', '/', { headers: { 'if-none-match': headers.etag ?? '' } });
    expect(again).toMatchObject({ status: 304, text: '' });
  });

  it.each(['/docs/', '/geowebcache/docs/', '/docs/index.html', '/docs/tasks.html'])(
    'the documentation is at %s, public and under the same policy',
    async (url) => {
      const { request } = createTestApp({ deps: { assets: await listWebAssets(folder) } });
      const { status, text, headers } = await request('GET', url);
      expect({ status, text }).toEqual({
        status: 200,
        text: url.endsWith('tasks.html') ? 'Tasks' : 'Contents',
      });
      expect(headers['content-security-policy']).toContain("default-src 'none'");
    },
  );

  it.each(['/docs', '/geowebcache/docs'])(
    'the path %s of the documentation redirects to its folder, whatever proxies add',
    async (url) => {
      const { request } = createTestApp({ deps: { assets: await listWebAssets(folder) } });
      const { status, headers } = await request('GET', url);
      expect({ status, location: headers.location }).toEqual({ status: 308, location: 'docs/' });
    },
  );

  it.each(['/notes.secret', '/assets/', '/assets/..%2findex.html', '/..%5cindex.html', '/%00'])(
    'the page has nothing at %s',
    async (url) => {
      const { request } = createTestApp({ deps: { assets: await listWebAssets(folder) } });
      expect((await request('GET', url)).status).toBe(404);
    },
  );
});
