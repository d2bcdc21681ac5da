import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openHttpServer } from '../../test/fixtures/network.ts';
import type { Credentials } from '../config/client-settings.ts';
import { createServerClient, type FieldFlags, ServerRefusal, ServerUnreachable } from './server-client.ts';

async function openAnswering(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const { url, close } = await openHttpServer(answer);
  onTestFinished(close);
  return (credentials: Credentials | null = null, fields: FieldFlags = {}) =>
    createServerClient({ server: `${url}/geowebcache`, credentials }, fields);
}

/** What every answer of Tilewarden has. */
const OF_TILEWARDEN = { 'x-content-type-options': 'nosniff', 'content-type': 'text/plain; charset=utf-8' };

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => error as Error,
  );

describe('speaking to a server', () => {
  it('a client sends the body as JSON below the server’s path and reads the answer', async () => {
    const client = await openAnswering(async (request, response) => {
      let body = '';
      for await (const part of request) body += part;
      const { method, url, headers } = request;
      response.end(JSON.stringify({ method, url, body, type: headers['content-type'] }));
    });
    expect(await client().post('/api/v1/tasks', { layer: 'Ärö' })).toEqual({
      method: 'POST',
      url: '/geowebcache/api/v1/tasks',
      body: '{"layer":"Ärö"}',
      type: 'application/json',
    });
  });

  it('a client sends its password or token', async () => {
    const client = await openAnswering((request, response) =>
      response.end(JSON.stringify(request.headers.authorization ?? null)),
    );
    expect(await client().get('/')).toBeNull();
    expect(await client({ kind: 'password', user: 'anna', password: 'ä:b' }).get('/')).toBe(
      `Basic ${Buffer.from('anna:ä:b').toString('base64')}`,
    );
    expect(await client({ kind: 'token', token: 'tw_1' }).get('/')).toBe('Bearer tw_1');
  });

  it('a client passes on why the server refuses, and when to retry', async () => {
    const client = await openAnswering((_, response) =>
      response.writeHead(429, { ...OF_TILEWARDEN, 'retry-after': '7' }).end('Too many tasks.\n'),
    );
    const failure = await failureOf(client().get('/'));
    expect(failure).toBeInstanceOf(ServerRefusal);
    expect(failure).toMatchObject({ status: 429, message: 'Too many tasks.\nTry again in 7 s.' });
  });

  it('a client does not accept every answer as Tilewarden’s', async () => {
    const page = await openAnswering((_, response) => response.end('<html>Sign in</html>'));
    expect((await failureOf(page().get('/')))?.message).toContain('is not Tilewarden');
    const elsewhere = await openAnswering((_, response) =>
      response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    );
    expect(await failureOf(elsewhere().get('/'))).toMatchObject({ status: 302 });
  });

  it('a client reports a server with refusals unlike Tilewarden’s as another program', async () => {
    const other = await openAnswering((_, response) => response.writeHead(400).end('what?'));
    const failure = await failureOf(other().get('/'));
    expect(failure).toBeInstanceOf(ServerRefusal);
    expect(failure?.message).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/geowebcache does not answer as Tilewarden \(HTTP 400\): what\?\n.*--server/,
    );
  });

  it('a client names flags where the server names fields of a request', async () => {
    const client = await openAnswering((_, response) =>
      response
        .writeHead(400, OF_TILEWARDEN)
        .end('zoomStart must be below zoomStop. area.type must be Polygon.'),
    );
    expect(
      (
        await failureOf(
          client(null, { zoomStart: 'zoom-start', zoomStop: 'zoom-stop', area: 'area' }).get('/'),
        )
      )?.message,
    ).toBe('--zoom-start must be below --zoom-stop. area.type must be Polygon.');
  });

  it('a client reports why a server cannot be reached, also in the middle of an answer', async () => {
    const away = createServerClient({ server: 'http://127.0.0.1:9', credentials: null });
    const failure = await failureOf(away.get('/'));
    expect(failure).toBeInstanceOf(ServerUnreachable);
    expect(failure?.message).toContain('nothing listens there');
    const client = await openAnswering((_, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{', () => response.destroy());
    });
    expect(await failureOf(client().get('/'))).toBeInstanceOf(ServerUnreachable);
  });
});
