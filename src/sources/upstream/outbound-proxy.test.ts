import { once } from 'node:events';
import { createServer as createHttpServer, request } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { openMockWms } from '../../../test/fixtures/mock-wms.ts';
import { needs } from '../../../test/fixtures/needs.ts';
import { createCertificate } from '../../../test/fixtures/network.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { describeSettings, loadSettings } from '../../config/load-settings.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { type OutboundProxies, proxyFor } from './outbound-proxy.ts';
import { openProxiedFetch } from './proxied-fetch.ts';
import { openUpstreamClient } from './upstream-client.ts';
import { type UpstreamOptions, upstreamOptions } from './upstream-options.ts';

const PROXY = 'http://user:hunter2@proxy.example:3128';
/** RFC 6761, 6.4: resolves nowhere. */
const HOST = 'maps.invalid';
const MAP = '/?LAYERS=a&SRS=EPSG:3857&BBOX=0,0,1,1&WIDTH=64&HEIGHT=64&FORMAT=image/png';

describe('the proxy for an address', () => {
  it.each([
    ['', 'https://maps.example.org/', true],
    ['*', 'https://maps.example.org/', false],
    ['other.org, example.org', 'https://example.org/', false],
    ['example.org', 'https://maps.example.org/', false],
    ['.example.org', 'https://MAPS.example.org/', false],
    ['*.example.org', 'https://maps.example.org/', false],
    ['example.org', 'https://badexample.org/', true],
    ['example.org:8443', 'https://example.org:8443/', false],
    ['example.org:8443', 'https://example.org/', true],
    ['10.0.0.0/8 192.0.2.7', 'https://10.1.2.3/', false],
    ['10.0.0.0/8 192.0.2.7', 'https://192.0.2.7/', false],
    ['10.0.0.0/8 192.0.2.7', 'https://11.1.2.3/', true],
    ['10.0.0.0/99', 'https://10.1.2.3/', true],
    ['2001:db8::/32', 'https://[2001:db8::7]/', false],
    ['2001:db8::7', 'https://[2001:db8::7]/', false],
    ['[2001:db8::7]:443', 'https://[2001:db8::7]/', false],
    ['2001:db8::/32', 'https://[2001:db9::7]/', true],
    ['', 'https://127.0.0.1/', false],
    ['', 'https://[::1]:8443/', false],
    ['', 'https://localhost/', false],
    ['', 'http://maps.example.org/', false],
  ])('with NO_PROXY %j, %s goes through HTTPS_PROXY: %s', (except, url, isProxied) => {
    const proxies = { http: null, https: PROXY, except };
    expect(proxyFor(proxies, new URL(url))).toBe(isProxied ? PROXY : null);
  });

  const load = (environment: Record<string, string>) =>
    loadSettings({ flags: {}, environment, workingFolder: '/nowhere' });

  it('the proxy comes from the environment, the lower-case name first, and reaches workers', async () => {
    const environment = { HTTPS_PROXY: 'http://other', https_proxy: 'proxy.example:3128', NO_PROXY: 'a' };
    const { settings, handover } = await load(environment);
    const proxies = { http: null, https: 'http://proxy.example:3128', except: 'a' };
    expect([settings.proxies, handover.proxies]).toEqual([proxies, proxies]);
  });

  it('the proxy is shown by check-config without its password', async () => {
    const text = describeSettings(await load({ HTTP_PROXY: PROXY }));
    expect(text).toContain('# http addresses through the proxy http://proxy.example:3128\n');
    expect(text).not.toContain('hunter2');
  });

  it.each(['socks5://proxy', 'http://', 'http://a b'])('HTTPS_PROXY=%s is refused by name', async (value) => {
    await expect(load({ HTTPS_PROXY: value })).rejects.toThrow(
      /^HTTPS_PROXY {2}must be the address of a proxy/,
    );
  });
});

describe('upstreams behind a proxy', () => {
  function open(proxies: Partial<OutboundProxies>, upstream: Partial<UpstreamOptions> | null = {}) {
    const client = openUpstreamClient({
      userAgent: 'Tilewarden/test',
      upstreams: upstream ? { [HOST]: upstreamOptions.parse({ allowPrivate: true, ...upstream }) } : {},
      proxies: { http: null, https: null, except: '', ...proxies },
      clock: systemClock,
      log: silentLogger,
    });
    whenOver(() => client.close());
    const { signal } = new AbortController();
    return (url: string) =>
      client.get({ url: new URL(url), priority: 'interactive', signal }).then(
        ({ status }) => status,
        ({ code, reason, message }) => ({ code, reason, message }),
      );
  }

  async function openProxied(credentials: string | null = null) {
    const wms = await openMockWms();
    const proxy = await openForwardProxy(Number(new URL(wms.origin).port), credentials);
    whenOver(() => Promise.all([proxy.close(), wms.close()]));
    return proxy;
  }

  it('a plain request is sent to the proxy with its whole address', async () => {
    const proxy = await openProxied('user:pass word');
    const get = open({ http: proxy.url });
    expect(await get(`http://${HOST}:8080${MAP}`)).toBe(200);
    expect(proxy.requests).toEqual([`GET http://${HOST}:8080${MAP}`]);
  });

  it('a proxy that refuses the credentials makes the upstream unavailable, in words that name the proxy', async () => {
    const proxy = await openProxied('user:right');
    const get = open({
      http: proxy.url.replace('right', 'wrong'),
      https: proxy.url.replace('right', 'wrong'),
    });
    const refused = {
      code: 'source-unavailable',
      message: 'The map source cannot be reached through the proxy.',
    };
    expect(await get(`http://${HOST}${MAP}`)).toMatchObject(refused);
    expect(await get(`https://${HOST}/`)).toMatchObject(refused);
    expect(proxy.requests).toEqual([`GET http://${HOST}${MAP}`, `CONNECT ${HOST}:443`]);
  });

  it('addresses that are refused directly are refused before the proxy is connected', async () => {
    const proxy = await openProxied();
    const get = open({ http: proxy.url }, null);
    const reasons = [];
    for (const host of ['10.1.2.3', '169.254.169.254', '[fe80::1]', HOST]) {
      reasons.push(await get(`http://${host}${MAP}`));
    }
    expect(reasons).toEqual(Array(4).fill(expect.objectContaining({ reason: 'address-refused' })));
    expect(proxy.requests).toEqual([]);
  });

  it('hosts in NO_PROXY are connected directly', async () => {
    const proxy = await openProxied();
    const get = open({ http: proxy.url, except: 'invalid' });
    expect(await get(`http://${HOST}${MAP}`)).toMatchObject({ reason: 'connection' });
    expect(proxy.requests).toEqual([]);
  });

  it('own authorities and client certificates hold inside the tunnel', needs('openssl'), async () => {
    const { certificate, key } = createCertificate(`DNS:${HOST}`);
    const tls = { key, cert: certificate, ca: certificate, requestCert: true };
    const host = createServer(tls, (_, response) => response.end('x')).listen(0, '127.0.0.1');
    await once(host, 'listening');
    const proxy = await openForwardProxy((host.address() as AddressInfo).port);
    whenOver(async () => {
      await proxy.close();
      host.closeAllConnections();
      host.close();
    });
    const url = `https://${HOST}/`;
    const statuses = [];
    for (const upstream of [{}, { ca: certificate }, { ca: certificate, certificate, key }]) {
      statuses.push(await open({ https: proxy.url }, upstream)(url));
    }
    const refused = expect.objectContaining({ code: 'source-unavailable', reason: 'connection' });
    expect(statuses).toEqual([refused, refused, 200]);
    expect(new Set(proxy.requests)).toEqual(new Set([`CONNECT ${HOST}:443`]));
  });

  it('the issuer of a sign-in is reached through the proxy too', async () => {
    const proxy = await openProxied();
    const proxied = openProxiedFetch({ http: proxy.url, https: null, except: '' });
    whenOver(() => proxied?.close());
    expect((await proxied?.fetch(`http://${HOST}${MAP}`))?.status).toBe(200);
    expect(proxy.requests).toHaveLength(1);
    expect(openProxiedFetch({ http: null, https: null, except: '' })).toBeNull();
  });
});

/** A forward proxy on loopback: tunnels and plain requests to any host go to this port of 127.0.0.1. */
async function openForwardProxy(port: number, credentials: string | null = null) {
  const requests: string[] = [];
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const isAllowed = (given: string | undefined) => expected === null || given === expected;
  const server = createHttpServer((asked, answer) => {
    requests.push(`${asked.method} ${asked.url}`);
    if (!isAllowed(asked.headers['proxy-authorization'])) return void answer.writeHead(407).end();
    const { pathname, search } = new URL(asked.url ?? '');
    const options = { port, host: '127.0.0.1', path: pathname + search, headers: asked.headers };
    asked.pipe(
      request({ ...options, method: asked.method ?? 'GET' }, (reply) => {
        answer.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(answer);
      }),
    );
  });
  server.on('connect', ({ url, headers }, socket) => {
    requests.push(`CONNECT ${url}`);
    if (!isAllowed(headers['proxy-authorization']))
      return void socket.end('HTTP/1.1 407 Credentials please\r\n\r\n');
    const onward = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 Connected\r\n\r\n'));
    for (const end of [onward, socket]) end.on('error', () => {});
    onward.pipe(socket).pipe(onward);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port: own } = server.address() as AddressInfo;
  return {
    /** As in HTTPS_PROXY. */
    url: `http://${credentials === null ? '' : `${credentials}@`}127.0.0.1:${own}`,
    /** Method and address of each, in order. */
    requests,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
    },
  };
}
