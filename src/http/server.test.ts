import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../test/fixtures/eventually.ts';
import {
  createTestApp,
  LISTENING,
  type Read,
  recordingLogger,
  testDeps,
  tileResponse,
} from '../../test/fixtures/http-app.ts';
import { createDeferred } from '../lib/deferred.ts';
import { type HttpServerDeps, openHttpServer } from './http-app.ts';
import type { HttpServer, HttpServerOptions } from './server.ts';

const opened: HttpServer[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

async function open(
  deps: Partial<HttpServerDeps> = {},
  options: Partial<HttpServerOptions> = {},
): Promise<HttpServer> {
  const server = await openHttpServer({ ...testDeps(), ...deps }, { ...LISTENING, ...options });
  opened.push(server);
  return server;
}

/** Sends the text as it is and returns everything that comes back until the connection ends. */
async function conversation(server: HttpServer, ...parts: readonly string[]): Promise<string> {
  const socket = connect(server.address.port, server.address.host);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  for (const part of parts) socket.write(part);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

describe('the paths of the server', () => {
  it.each(['', '/geowebcache', '/geoserver/gwc'])('server paths have the prefix "%s"', async (prefix) => {
    const { request } = createTestApp();
    expect(await request('GET', `${prefix}/healthz`)).toMatchObject({ status: 200, text: 'alive\n' });
    expect(await request('GET', `${prefix}/tiles/world/0/0/0.png`)).toMatchObject({ status: 200 });
  });

  it('a bare prefix redirects to its folder', async () => {
    const { request } = createTestApp();
    expect(await request('GET', '/geowebcache')).toMatchObject({
      status: 308,
      headers: { location: 'geowebcache/' },
    });
    expect(await request('GET', '/geoserver/gwc')).toMatchObject({
      status: 308,
      headers: { location: 'gwc/' },
    });
  });

  it.each(['/nothing', '/HEALTHZ', '/healthz/', '//healthz', '/healthz;x', '/healthz.html', '/tiles'])(
    'the paths of the server do not include %s',
    async (path) => {
      const { request } = createTestApp();
      const answer = await request('GET', path);
      expect(answer.status).toBe(404);
      expect(answer.text).toBe('There is nothing at this path.\n');
      expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    },
  );

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'])(
    'a path that can only be read refuses %s',
    async (method) => {
      const server = await open();
      const answer = await fetchRaw(server, method, '/tiles/world/0/0/0.png');
      expect(answer).toMatch(/^HTTP\/1\.1 405 /);
      expect(answer).toContain('\r\nAllow: GET, HEAD\r\n');
      expect(answer).toContain('This path answers only GET, HEAD.\n');
    },
  );

  it('unknown paths below the administrative ones are hidden from callers without credentials', async () => {
    const { request } = createTestApp({
      access: { loopbackOnly: false, authenticate: async () => null, stillHolds: async () => false },
    });
    for (const path of [
      '/rest/nothing',
      '/api/v1/nothing',
      '/masstruncate/x',
      '/diskquota.yaml',
      '/rest/%zz',
    ]) {
      const answer = await request('DELETE', path);
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Basic realm="Tilewarden", charset="UTF-8"');
    }
  });
});

describe('readiness', () => {
  it('a server is ready when the check succeeds', async () => {
    const { request } = createTestApp();
    expect(await request('GET', '/readyz')).toMatchObject({ status: 200, text: 'ready\n' });
  });

  it('readiness is denied without a reason, which is in the log', async () => {
    const readiness = async () => {
      throw new Error('no space on /var/lib/tiles');
    };
    const { request, log } = createTestApp({ deps: { readiness } });
    expect(await request('GET', '/readyz')).toMatchObject({ status: 503, text: 'not ready\n' });
    expect(log).toMatchObject([{ level: 'warn' }]);
  });

  it('readiness is not checked again for every probe', async () => {
    let checks = 0;
    const readiness = async () => {
      checks += 1;
      return null;
    };
    const { request } = createTestApp({ deps: { readiness } });
    await Promise.all(Array.from({ length: 20 }, () => request('GET', '/readyz')));
    expect(checks).toBe(1);
  });
});

describe('limits', () => {
  it('an address over 8 KiB is refused', async () => {
    const { request } = createTestApp();
    expect(await request('GET', `/tiles/${'x'.repeat(8200)}/0/0/0.png`)).toMatchObject({ status: 414 });
  });

  it('headers over 16 KiB are refused', async () => {
    const server = await open();
    const answer = await conversation(
      server,
      `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(17_000)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('more than 100 headers are refused', async () => {
    const { request } = createTestApp();
    const headers = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`x-${i}`, '1']));
    expect(await request('GET', '/healthz', { headers })).toMatchObject({ status: 431 });
  });

  it('a connection that sends its headers too slowly is cut', async () => {
    const server = await open({}, { limits: { headersTimeout: 200, connectionsCheckingInterval: 50 } });
    const answer = await conversation(server, 'GET /healthz HTTP/1.1\r\nHost: x\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('a connection that sends its body too slowly is cut', async () => {
    const limits = { headersTimeout: 200, requestTimeout: 200, connectionsCheckingInterval: 50 };
    const server = await open({}, { limits });
    const head = 'POST /api/v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{';
    expect(await conversation(server, head)).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('a request that is not HTTP is answered in one line', async () => {
    const server = await open();
    const answer = await conversation(server, 'hello\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('This is not a valid HTTP request.\n');
  });
});

describe('a Host header', () => {
  const ask = (server: HttpServer, method: string, host: string) =>
    conversation(
      server,
      `${method} /api/v1/session HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    );

  it.each(['999.999.999.999', 'a:99999', 'x y', 'a/b', '[::1', 'a@b'])(
    'an invalid Host header such as "%s" is a 400 and leaves nothing in the log',
    async (host) => {
      const entries: Parameters<typeof recordingLogger>[0] = [];
      const server = await open({ log: recordingLogger(entries) });
      for (const method of ['POST', 'PUT', 'GET', 'HEAD']) {
        const answer = await ask(server, method, host);
        expect(answer, `${method} ${host}`).toMatch(/^HTTP\/1\.1 400 /);
      }
      const tile = await conversation(
        server,
        `GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      expect(tile).toMatch(/^HTTP\/1\.1 400 /);
      expect(tile).toContain('The Host header is not a host name or address');
      expect(entries).toEqual([]);
    },
  );

  it.each(['Host: b', 'Host: a', 'HOST: b'])(
    'a second Host header such as "%s" is a 400, on a connection with a valid one too',
    async (second) => {
      const server = await open();
      for (const path of ['/tiles/world/0/0/0.png', '/healthz', '/api/v1/session']) {
        const good = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
        const bad = `GET ${path} HTTP/1.1\r\nHost: a\r\n${second}\r\nConnection: close\r\n\r\n`;
        const answers = await conversation(server, good + bad);
        expect(answers, path).toMatch(/HTTP\/1\.1 400 [\s\S]*The Host header may be sent once only\.\n$/);
      }
    },
  );

  it.each(['localhost', 'maps.example.org:8080', '127.0.0.1', '[::1]:8080', 'my_host'])(
    'a Host header such as "%s" is accepted',
    async (host) => {
      const server = await open();
      const tile = await conversation(
        server,
        `GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      expect(tile).toMatch(/^HTTP\/1\.1 200 /);
    },
  );
});

describe('requests that are sent without waiting for answers', () => {
  const TILE = 'GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: x\r\n\r\n';
  const LAST_TILE = 'GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  const statuses = (text: string) =>
    Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => status);

  it('pipelined requests are all answered before bytes after them that are not HTTP', async () => {
    for (const read of [tileResponse, async () => tileResponse()]) {
      const server = await open({ pipeline: { read: () => read() } });
      const answers = await conversation(server, `${TILE.repeat(3)}garbage\r\n\r\n`);
      expect(statuses(answers)).toEqual(['200', '200', '200', '400']);
    }
  });

  it('pipelined requests are all answered, however many there are', async () => {
    const server = await open();
    const answers = await conversation(server, TILE.repeat(1099) + LAST_TILE);
    expect(statuses(answers)).toEqual(Array.from({ length: 1100 }, () => '200'));
  });
});

describe('a connection with many requests that wait', () => {
  it('a connection has a limited number of requests in progress, and gets 429 beyond those that may wait', async () => {
    const held: (() => void)[] = [];
    const read: Read = () => new Promise((resolve) => held.push(() => resolve(tileResponse())));
    const limits = { requestsPerConnection: 3, waitingPerConnection: 4 };
    const server = await open({ pipeline: { read } }, { limits });
    const tile = 'GET /tiles/world/0/0/0.png HTTP/1.1\r\nHost: x\r\n\r\n';
    const last = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const answers = conversation(server, tile.repeat(19) + last);
    await eventually(
      'the requests to arrive',
      () => held.length,
      (seen) => seen >= 3,
    );
    expect((await fetch(`${server.address.url}healthz`)).status).toBe(200);
    expect(held).toHaveLength(3);
    for (let answered = 0; answered < 7; answered++) {
      await eventually(
        'the next request to begin',
        () => held.length,
        (seen) => seen > answered,
      );
      held[answered]?.();
    }
    const text = await answers;
    expect(text.match(/HTTP\/1\.1 200 /g)).toHaveLength(7);
    expect(text.match(/HTTP\/1\.1 429 /g)).toHaveLength(13);
    expect(text).toContain('At most 7 requests of one connection may wait for answers');
  });

  it('a connection is answered again when its earlier requests have been answered', async () => {
    const server = await open(
      { pipeline: { read: async () => tileResponse() } },
      { limits: { requestsPerConnection: 1 } },
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let n = 0; n < 5; n++) {
      const asked = get(`${server.address.url}tiles/world/0/0/0.png`, { agent });
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      expect(answer.statusCode).toBe(200);
    }
    agent.destroy();
  });
});

describe('access control', () => {
  it('a server without accounts is closed to other machines', async () => {
    await expect(open({}, { host: '0.0.0.0' })).rejects.toMatchObject({ code: 'config-invalid' });
  });

  it('a server does not start with a route that declares no role', async () => {
    const { createRouter } = await import('./hits/router.ts');
    const route = { method: 'GET', path: '/x', handler: () => ({ status: 200, headers: [], body: null }) };
    expect(() => createRouter([route as never], [''])).toThrow('does not declare a role');
  });
});

describe('closing', () => {
  it('closing the server waits for answers under way and then ends idle connections', async () => {
    const gate = createDeferred<void>();
    const reading = createDeferred<void>();
    const read: Read = async () => {
      reading.resolve();
      await gate.promise;
      return tileResponse();
    };
    const server = await open({ pipeline: { read } });
    const tile = fetch(`${server.address.url}tiles/world/0/0/0.png`);
    await reading.promise;
    const closed = server.close();
    gate.resolve();
    expect((await tile).status).toBe(200);
    await closed;
    await expect(fetch(`${server.address.url}healthz`)).rejects.toThrow();
  });

  it('closing the server does not wait for ever', async () => {
    const read: Read = () => new Promise(() => {});
    const server = await open({ pipeline: { read } }, { limits: { drainTimeout: 100 } });
    const tile = fetch(`${server.address.url}tiles/world/0/0/0.png`).catch((error: unknown) => error);
    await server.close();
    expect(await tile).toBeInstanceOf(Error);
  });
});

describe('a caller that goes away', () => {
  it('a caller that goes away ends the wait for its tile and leaves nothing in the log', async () => {
    const gone = createDeferred<void>();
    const reading = createDeferred<void>();
    const read: Read = (_tiles, _tile, signal) =>
      new Promise((_resolve, reject) => {
        reading.resolve();
        signal?.addEventListener('abort', () => {
          gone.resolve();
          reject(signal.reason);
        });
      });
    const entries: Parameters<typeof recordingLogger>[0] = [];
    const server = await open({ pipeline: { read }, log: recordingLogger(entries) });
    const leaving = new AbortController();
    const tile = fetch(`${server.address.url}tiles/world/0/0/0.png`, { signal: leaving.signal });
    await reading.promise;
    leaving.abort();
    await expect(tile).rejects.toThrow();
    await gone.promise;
    expect(entries).toEqual([]);
  });
});

async function fetchRaw(server: HttpServer, method: string, path: string): Promise<string> {
  return conversation(server, `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
}
