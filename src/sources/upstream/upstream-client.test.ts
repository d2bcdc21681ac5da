import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../test/fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../../../test/fixtures/mock-wms.ts';
import { needs } from '../../../test/fixtures/needs.ts';
import { createCertificate } from '../../../test/fixtures/network.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { isTilewardenError, type TilewardenError } from '../../domain/errors.ts';
import { createMemoryLedger } from '../../lib/budget.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { openUpstreamLimiter, type UpstreamLimiterOptions } from './open-upstream-limiter.ts';
import {
  openUpstreamClient,
  type UpstreamClient,
  type UpstreamClientOptions,
  type UpstreamRequest,
} from './upstream-client.ts';
import { type UpstreamOptions, upstreamOptions } from './upstream-options.ts';

const QUERY = '?LAYERS=a&SRS=EPSG:3857&BBOX=0,0,1,1&WIDTH=64&HEIGHT=64&FORMAT=image/png&KEY=hunter2';

describe('the upstream client', () => {
  let wms: MockWms;
  let client: UpstreamClient;
  beforeEach(async () => {
    wms = await openMockWms();
    client = open();
  });
  afterEach(async () => {
    await client.close();
    await wms.close();
  });

  function open(
    upstream: Partial<UpstreamOptions> = {},
    limits: NonNullable<UpstreamClientOptions['limits']> = {},
    waits: Pick<UpstreamLimiterOptions, 'maxWaiting' | 'maxInteractiveWaitMs'> = {},
  ): UpstreamClient {
    const allowed = { allowPrivate: true, adaptive: false, ...upstream };
    const env = {
      upstreams: { '127.0.0.1': upstreamOptions.parse(allowed) },
      clock: systemClock,
      random: () => 0.5,
      log: silentLogger,
    };
    const limiter = openUpstreamLimiter({ ...env, ...waits, budgets: createMemoryLedger(systemClock) });
    return openUpstreamClient({ ...env, userAgent: 'Tilewarden/test', limiter, limits });
  }

  async function reopen(...options: Parameters<typeof open>): Promise<void> {
    await client.close();
    client = open(...options);
  }

  function request(changes: Partial<UpstreamRequest> = {}): UpstreamRequest {
    return {
      url: new URL(wms.url + QUERY),
      priority: 'interactive',
      signal: new AbortController().signal,
      ...changes,
    };
  }

  async function failure(changes: Partial<UpstreamRequest> = {}): Promise<TilewardenError> {
    const error: unknown = await client.get(request(changes)).catch((e: unknown) => e);
    if (!isTilewardenError(error)) throw new Error(`expected a failure, got ${String(error)}`);
    return error;
  }

  async function until(condition: () => boolean): Promise<void> {
    await eventually(String(condition), condition);
  }

  it("the upstream client answers with the bytes and the server's type for them", async () => {
    const answer = await client.get(request());
    expect(answer.mediaType).toBe('image/png');
    expect(answer.bytes.length).toBeGreaterThan(50);
  });

  it('the upstream client follows no redirect', async () => {
    wms.answer = 'redirect';
    expect(await failure()).toMatchObject({ code: 'source-bad-answer', reason: 'status' });
  });

  it.each([
    [{ status: 429, headers: { 'retry-after': '30' } }, 'source-busy', 30],
    [{ status: 503, headers: { 'retry-after': '5' } }, 'source-unavailable', 5],
    [{ status: 500 }, 'source-unavailable', null],
    [{ status: 403 }, 'source-bad-answer', null],
    [{ status: 204 }, 'source-bad-answer', null],
  ] as const)('the upstream client reads %j as %s', async (answer, code, retryAfterSeconds) => {
    wms.answer = answer;
    expect(await failure()).toMatchObject({ code, retryAfterSeconds });
  });

  it('the upstream client reads a date in Retry-After', async () => {
    const inAMinute = new Date(Date.now() + 60_000).toUTCString();
    wms.answer = { status: 503, headers: { 'retry-after': inAMinute } };
    expect((await failure()).retryAfterSeconds).toBeGreaterThan(55);
  });

  it('the upstream client keeps host, address and answer out of the message, and secrets out of everything', async () => {
    wms.answer = { status: 500, body: 'no such table in db.internal for <open-sesame>' };
    const headers = { authorization: 'Basic aHVudGVyMg==', 'x-access': 'open-sesame' };
    const error = await failure({ headers });
    expect(error.message).not.toMatch(/127|db\.internal/);
    expect(String(error.cause)).toContain('db.internal');
    expect(String(error.cause)).not.toMatch(/hunter2|aHVudGVyMg|sesame/);
    expect(JSON.stringify(error.upstream)).not.toContain('sesame');
  });

  it('the upstream client gives up when no answer begins in time, and closes the connection', async () => {
    await reopen({}, { firstByteMs: 100 });
    wms.answer = 'hang';
    expect((await failure()).code).toBe('source-timeout');
    await until(() => wms.connections === 0);
  });

  it('the upstream client gives up when the answer does not end in time', async () => {
    await reopen({}, { totalMs: 150 });
    wms.answer = 'hang-body';
    expect((await failure()).code).toBe('source-timeout');
    await until(() => wms.connections === 0);
  });

  it('the upstream client lets a request set its own time limit', async () => {
    wms.answer = 'hang';
    expect((await failure({ timeoutMs: 100 })).code).toBe('source-timeout');
  });

  it('the upstream client reports a host without a listener as unavailable', async () => {
    const port = new URL(wms.origin).port;
    await wms.close();
    expect((await failure({ url: new URL(`http://127.0.0.1:${port}/`) })).code).toBe('source-unavailable');
    wms = await openMockWms();
  });

  it('the upstream client stops in the middle of an answer when its caller has gone', async () => {
    wms.answer = 'hang-body';
    const controller = new AbortController();
    const pending = client.get(request({ signal: controller.signal }));
    await until(() => wms.active === 1);
    controller.abort(new Error('gone'));
    await expect(pending).rejects.toThrow('gone');
    await until(() => wms.active === 0);
    expect(wms.aborted).toBe(1);
  });

  it('the upstream client reads no more than the limit of an endless answer', async () => {
    await reopen({}, { maxBytes: 100_000 });
    wms.answer = 'endless';
    expect((await failure()).reason).toBe('too-long');
    await until(() => wms.active === 0);
  });

  it('the upstream client still answers after hundreds of failures, within its limit of connections', async () => {
    await reopen({ concurrency: 4 }, { firstByteMs: 1000 });
    const kinds = ['reset', 'cut-length', 'cut-chunk', 'compressed', { status: 504 }, 'redirect'] as const;
    wms.answer = (_, number) => kinds[number % kinds.length] ?? 'reset';
    for (let round = 0; round < 6; round++) {
      await Promise.all(Array.from({ length: 40 }, () => failure()));
      expect(wms.connections).toBeLessThanOrEqual(8);
    }
    wms.answer = 'good';
    const recovered = async () => {
      const answer = await client.get(request()).catch(() => null);
      return answer?.mediaType === 'image/png';
    };
    await eventually('answers are good again', recovered);
  });

  it('the upstream client keeps the limit of concurrent requests to a host for all sources together', async () => {
    await reopen({ concurrency: 3 });
    wms.answer = { delayMs: 5 };
    await Promise.all(Array.from({ length: 30 }, () => client.get(request())));
    expect(wms.peak).toBe(3);
    expect(wms.requests.length).toBe(30);
  });

  it('the upstream client begins no more requests in any second than allowed', async () => {
    await client.get(request());
    await reopen({ ratePerSecond: 20, concurrency: 20 });
    const [from, begun] = [wms.requests.length, performance.now()];
    await Promise.all(Array.from({ length: 45 }, () => client.get(request())));
    // A busy machine may delay what has begun, so that requests of two seconds arrive in one; none arrives too early.
    const seconds = wms.requests.slice(from).map(({ at }) => (at - begun) / 1000);
    expect(seconds.length).toBe(45);
    expect(seconds.filter((second, i) => second < Math.floor(i / 20))).toEqual([]);
  });

  it('the upstream client lets people go before tasks', async () => {
    await reopen({ concurrency: 1 });
    wms.answer = (_, number) => (number === 0 ? 'hang' : 'good');
    const order: string[] = [];
    const ask = (priority: 'interactive' | 'task') =>
      client.get(request({ priority })).then(() => order.push(priority));
    const asked = [ask('task')];
    await until(() => wms.active === 1);
    asked.push(ask('task'), ask('task'), ask('task'), ask('interactive'), ask('interactive'));
    wms.release();
    await Promise.all(asked);
    expect(order.lastIndexOf('interactive')).toBeLessThanOrEqual(3);
  });

  it('the upstream client refuses requests when too many wait, with a retry time', async () => {
    await reopen({ concurrency: 1 }, {}, { maxWaiting: 3 });
    wms.answer = 'hang';
    const waiting = [client.get(request())];
    await until(() => wms.active === 1);
    waiting.push(...Array.from({ length: 3 }, () => client.get(request())));
    const turnedAway = await failure();
    expect(turnedAway.code).toBe('source-busy');
    expect(turnedAway.retryAfterSeconds).toBeGreaterThanOrEqual(1);
    wms.answer = 'good';
    wms.release();
    await Promise.all(waiting);
  });

  it('the upstream client limits how long a request waits for its turn', async () => {
    await reopen({ concurrency: 1 }, {}, { maxInteractiveWaitMs: 50 });
    wms.answer = 'hang';
    const first = client.get(request());
    await until(() => wms.active === 1);
    expect((await failure()).code).toBe('source-busy');
    wms.release();
    await first;
  });

  it('the upstream client ends requests under way and waiting ones when it is closed', async () => {
    await reopen({ concurrency: 1 });
    wms.answer = 'hang';
    const pending = [failure(), failure(), failure({ priority: 'task' })];
    await until(() => wms.active === 1);
    await client.close();
    for (const error of await Promise.all(pending)) expect(error.code).toBe('source-unavailable');
    await until(() => wms.connections === 0);
  });

  it.each(['http://127.0.0.1/', 'http://0x7f000001/', 'http://[::ffff:127.0.0.1]/', 'http://localhost/'])(
    'the upstream client does not connect to %s unless private addresses are allowed',
    async (url) => {
      await client.close();
      const { port } = new URL(wms.origin);
      client = openUpstreamClient({
        userAgent: 'Tilewarden/test',
        upstreams: {},
        clock: systemClock,
        log: silentLogger,
      });
      const target = new URL(url);
      target.port = port;
      expect(await failure({ url: target })).toMatchObject({
        code: 'source-unavailable',
        reason: 'address-refused',
      });
      expect(wms.connections).toBe(0);
    },
  );

  it('the upstream client connects to a private address that the configuration names, and to no other', async () => {
    await client.close();
    const { host, port } = new URL(wms.origin);
    const configuredHosts = new Set([host]);
    const options = { userAgent: 'x', upstreams: {}, clock: systemClock, log: silentLogger };
    client = openUpstreamClient({ ...options, configuredHosts });
    expect((await client.get(request())).mediaType).toBe('image/png');
    const error = await failure({ url: new URL(`http://127.0.0.2:${port}/`) });
    expect(error).toMatchObject({
      reason: 'address-refused',
      message: expect.stringContaining('allowPrivate'),
    });
  });

  it('a private host that the configuration names or no longer names is reached, or not, from the next request on', async () => {
    await client.close();
    const { port } = new URL(wms.origin);
    // By name: only the lookup of a new connection sees the address.
    const url = new URL(`http://localhost:${port}/${QUERY}`);
    const configuredHosts = new Set<string>();
    const options = { userAgent: 'x', upstreams: {}, clock: systemClock, log: silentLogger };
    client = openUpstreamClient({ ...options, configuredHosts });
    expect((await failure({ url })).reason).toBe('address-refused');
    configuredHosts.add(url.host);
    expect((await client.get(request({ url }))).mediaType).toBe('image/png');
    configuredHosts.delete(url.host);
    expect((await failure({ url })).reason).toBe('address-refused');
    configuredHosts.add(url.host);
    expect((await client.get(request({ url }))).mediaType).toBe('image/png');
  });

  it('requests that wait for a host while its settings change are sent with the new ones', async () => {
    await client.close();
    const settings = (concurrency: number) => ({
      '127.0.0.1': upstreamOptions.parse({ allowPrivate: true, concurrency }),
    });
    const options = { userAgent: 'x', upstreams: settings(1), clock: systemClock, log: silentLogger };
    client = openUpstreamClient(options);
    wms.answer = 'hang';
    const answers = [client.get(request()), client.get(request()), client.get(request())];
    await until(() => wms.active === 1);
    options.upstreams = settings(2);
    answers.push(client.get(request()));
    wms.answer = 'good';
    wms.release();
    for (const { mediaType } of await Promise.all(answers)) expect(mediaType).toBe('image/png');
  });

  it('a source reaches private addresses of its own hosts only, whatever the configuration names', async () => {
    await client.close();
    const { host, hostname, port } = new URL(wms.origin);
    const upstreams = { [hostname]: upstreamOptions.parse({ allowPrivate: true }) };
    const options = { userAgent: 'x', upstreams, clock: systemClock, log: silentLogger };
    client = openUpstreamClient({ ...options, configuredHosts: new Set([host]) });
    const own = client.ownedBy(new Set([host]));
    const other = client.ownedBy(new Set([`127.0.0.2:${port}`]));
    expect((await own.get(request())).mediaType).toBe('image/png');
    await expect(other.get(request())).rejects.toMatchObject({
      reason: 'address-refused',
      message: expect.stringContaining('Only hosts in its own declaration'),
    });
    expect((await own.get(request())).mediaType).toBe('image/png');
    expect(wms.requests).toHaveLength(2);
  });

  it('the upstream client never connects to link-local addresses', async () => {
    await client.close();
    const upstreams = { '169.254.169.254': upstreamOptions.parse({ allowPrivate: true }) };
    const configuredHosts = new Set(['169.254.169.254:80']);
    client = openUpstreamClient({
      userAgent: 'x',
      upstreams,
      configuredHosts,
      clock: systemClock,
      log: silentLogger,
    });
    const error = await failure({ url: new URL('http://169.254.169.254/latest/') });
    expect(error.reason).toBe('address-refused');
  });

  describe('a host with a certificate of its own', needs('openssl'), () => {
    let pem = { certificate: '', key: '' };
    beforeAll(() => {
      pem = createCertificate('IP:127.0.0.1');
    });

    async function openHost(requestCert: boolean): Promise<URL> {
      const tls = { key: pem.key, cert: pem.certificate, ca: pem.certificate, requestCert };
      const host: Server = createServer(tls, (_, response) => response.end('x')).listen(0, '127.0.0.1');
      await once(host, 'listening');
      whenOver(() => void host.close());
      return new URL(`https://127.0.0.1:${(host.address() as AddressInfo).port}/`);
    }

    it('a host with its own certificate is trusted with the configured authority, and not otherwise', async () => {
      const url = await openHost(false);
      expect((await failure({ url })).reason).toBe('connection');
      await reopen({ ca: pem.certificate });
      expect((await client.get(request({ url }))).status).toBe(200);
    });

    it('a host that requires a client certificate gets the configured one', async () => {
      const url = await openHost(true);
      await reopen({ ca: pem.certificate });
      expect((await failure({ url })).reason).toBe('connection');
      await reopen({ ca: pem.certificate, certificate: pem.certificate, key: pem.key });
      expect((await client.get(request({ url }))).status).toBe(200);
    });

    it('certificates that cannot be used are refused, and the message names the field', () => {
      const { certificate, key } = pem;
      const ca = '-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n';
      const fields = (settings: object) =>
        upstreamOptions.safeParse(settings).error?.issues.map(({ path }) => path.join('.'));
      expect(fields({ ca: 'ca.pem' })).toEqual(['ca']);
      expect(fields({ ca })).toEqual(['ca']);
      expect(fields({ certificate })).toEqual(['key']);
      expect(fields({ key })).toEqual(['certificate']);
      expect(fields({ certificate: key, key })).toEqual(['certificate']);
    });
  });
});
