import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeTileSource, sourceRequest } from '../../../test/contracts/tile-source.ts';
import { type MockWms, openMockWms } from '../../../test/fixtures/mock-wms.ts';
import { showsPlace } from '../../../test/fixtures/mock-wms-pixels.ts';
import { acceptImage } from '../../../test/fixtures/pictures.ts';
import { isTilewardenError } from '../../domain/errors.ts';
import { type Format, formatOf } from '../../domain/format.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { TileSource } from '../tile-source.ts';
import { openUpstreamClient, type UpstreamClient } from '../upstream/upstream-client.ts';
import { upstreamOptions } from '../upstream/upstream-options.ts';
import { wmsSourceOptions } from './map-request.ts';
import { openWmsSource } from './wms-source.ts';

function openClient(): UpstreamClient {
  return openUpstreamClient({
    userAgent: 'Tilewarden/test',
    upstreams: { '127.0.0.1': upstreamOptions.parse({ allowPrivate: true }) },
    clock: systemClock,
    log: silentLogger,
  });
}

let contractWms: MockWms;
describeTileSource('wms', {
  async open() {
    const upstream = openClient();
    contractWms = await openMockWms();
    const options = wmsSourceOptions.parse({ type: 'wms', url: contractWms.url, layers: 'a' });
    const source = openWmsSource(options, { upstream });
    return {
      source,
      async close() {
        await source.close();
        await upstream.close();
        await contractWms.close();
      },
    };
  },
  formats: ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/png8'],
  breakIt: () => {
    contractWms.answer = { status: 500 };
  },
  hang: () => {
    contractWms.answer = 'hang';
  },
});

describe('the wms source', () => {
  let first: MockWms;
  let second: MockWms;
  let upstream: UpstreamClient;
  beforeEach(async () => {
    first = await openMockWms();
    second = await openMockWms();
    upstream = openClient();
  });
  afterEach(async () => {
    await upstream.close();
    await first.close();
    await second.close();
  });

  function open(options: object = {}): TileSource {
    return openWmsSource(
      wmsSourceOptions.parse({
        type: 'wms',
        url: first.url,
        layers: ['roads', 'rails'],
        ...options,
      }),
      { upstream },
    );
  }

  it.each(['1.1.1', '1.3.0'])('a WMS source gets the right part of the world in WMS %s', async (version) => {
    for (const gridSetName of ['EPSG:900913', 'EPSG:4326', 'WebMercatorQuad', 'WorldCRS84Quad']) {
      const request = sourceRequest({ gridSetName, gutter: 5 });
      const answer = await open({ version }).fetch(request);
      if (answer.kind !== 'encoded') throw new Error('not encoded');
      const { bounds, width, height } = request;
      const image = await acceptImage(answer.bytes, answer.mediaType, width, height);
      const parameters = new Map([['LAYERS', 'roads,rails']]);
      const place = { srs: request.gridSet.srs, bounds, width, height, parameters };
      expect(showsPlace(image, place), gridSetName).toBe(true);
    }
  });

  it('a WMS source sends the parameters of the request, its styles instead of the declared ones', async () => {
    const parameters = new Map([
      ['STYLES', 'night'],
      ['CQL_FILTER', "NAME = 'Æ' AND A+B > 2"],
      ['TIME', ''],
      ['BBOX', '1,2,3,4'],
    ]);
    await open({ styles: 'day', vendorParameters: { map_resolution: 90 } }).fetch(
      sourceRequest({ parameters }),
    );
    const sent = first.requests[0]?.parameters;
    expect(sent?.get('STYLES')).toBe('night');
    expect(sent?.get('CQL_FILTER')).toBe("NAME = 'Æ' AND A+B > 2");
    expect(sent?.get('MAP_RESOLUTION')).toBe('90');
    expect(sent?.has('TIME')).toBe(false);
    expect(sent?.get('BBOX')).not.toBe('1,2,3,4');
  });

  it('a WMS source sends a request that is too long for an address by POST', async () => {
    const filter = `NAME IN (${Array.from({ length: 400 }, (_, i) => `'place ${i}'`).join(',')})`;
    const parameters = new Map([
      ['CQL_FILTER', filter],
      ['TIME', '2026-01-01/2026-01-31'],
    ]);
    const url = `${first.url}?map=/maps/a.map`;
    const answer = await open({ url }).fetch(sourceRequest({ parameters }));
    const [sent] = first.requests;
    expect(sent).toMatchObject({ method: 'POST', path: '/wms?map=/maps/a.map' });
    expect(sent?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect([...'CQL_FILTER TIME LAYERS'.split(' ')].map((name) => sent?.parameters.get(name))).toEqual([
      filter,
      '2026-01-01/2026-01-31',
      'roads,rails',
    ]);
    expect(answer).toMatchObject({ kind: 'encoded', mediaType: 'image/png' });
    await open({ url, maxUrlLength: 100_000 }).fetch(sourceRequest({ parameters }));
    expect(first.requests[1]?.method).toBe('GET');
  });

  it.each([
    ['1.1.1', { X: '7', Y: '8', SRS: 'EPSG:3857' }],
    ['1.3.0', { I: '7', J: '8', CRS: 'EPSG:3857' }],
  ] as const)('a WMS source requests the feature info of a pixel, in %s', async (version, expected) => {
    const { metatile: _, priority: __, ...place } = sourceRequest();
    await open({ version, queryLayers: ['rails'] }).featureInfo?.({
      ...place,
      i: 7,
      j: 8,
      infoFormat: 'text/plain',
      featureCount: 3,
    });
    const sent = first.requests[0]?.parameters;
    const wanted = {
      REQUEST: 'GetFeatureInfo',
      LAYERS: 'roads,rails',
      QUERY_LAYERS: 'rails',
      INFO_FORMAT: 'text/plain',
      FEATURE_COUNT: '3',
      ...expected,
    };
    expect(Object.fromEntries(Object.keys(wanted).map((name) => [name, sent?.get(name)]))).toEqual(wanted);
  });

  it.each(['TIME', 'ELEVATION', 'DIM_WAVELENGTH'])('a WMS source sends the requested %s', async (name) => {
    await open().fetch(sourceRequest({ parameters: new Map([[name, '2026-07-01T00:00:00Z']]) }));
    expect(first.requests[0]?.parameters.get(name)).toBe('2026-07-01T00:00:00Z');
  });

  it('a WMS source sends credentials, headers and its user agent', async () => {
    await open({ username: 'ann', password: 'pässword', headers: { 'X-Key': 'k1' } }).fetch(sourceRequest());
    const headers = first.requests[0]?.headers;
    expect(headers?.authorization).toBe(`Basic ${Buffer.from('ann:pässword').toString('base64')}`);
    expect(headers?.['x-key']).toBe('k1');
    expect(headers?.['user-agent']).toBe('Tilewarden/test');
    expect(headers?.['accept-encoding']).toBe('identity');
  });

  it('a WMS source uses the next address when one fails, and stays with the one that answers', async () => {
    first.answer = { status: 503 };
    const source = open({ url: [first.url, second.url] });
    for (let i = 0; i < 3; i++) await source.fetch(sourceRequest());
    expect(first.requests.length).toBe(1);
    expect(second.requests.length).toBe(3);
  });

  it('a WMS source uses the next address while the first is left alone because it fails', async () => {
    first.answer = { status: 503 };
    const alone = open({ url: [first.url] });
    for (let i = 0; i < 5; i++) await alone.fetch(sourceRequest()).catch(() => {});
    await expect(alone.fetch(sourceRequest())).rejects.toMatchObject({
      code: 'source-busy',
      reason: 'failing',
    });
    await open({ url: [first.url, second.url] }).fetch(sourceRequest());
    expect(first.requests.length).toBe(5);
    expect(second.requests.length).toBe(1);
  });

  it('a WMS source does not use the next address when the answer is a refusal', async () => {
    first.answer = { status: 404 };
    const failing = open({ url: [first.url, second.url] }).fetch(sourceRequest());
    await expect(failing).rejects.toMatchObject({ code: 'source-bad-answer', reason: 'status' });
    expect(second.requests.length).toBe(0);
  });

  it('a WMS source fails when all addresses do, with the retry time', async () => {
    first.answer = { status: 503, headers: { 'retry-after': '7' } };
    second.answer = 'reset';
    await expect(open({ url: [first.url, second.url] }).fetch(sourceRequest())).rejects.toMatchObject({
      code: 'source-unavailable',
      retryAfterSeconds: 7,
    });
  });

  describe.each(['image/png', 'image/jpeg', 'image/webp'])('for tiles of %s', (mediaType) => {
    it.each([
      [{ status: 500 }, 'status'],
      [{ status: 404 }, 'status'],
      ['redirect', 'status'],
      ['xml', 'service-exception'],
      ['xml-as-image', 'service-exception'],
      ['html', 'html'],
      ['empty', 'empty'],
      ['cut-length', 'truncated'],
      ['cut-chunk', 'truncated'],
      ['cut-close', 'truncated'],
      ['half-image', 'truncated'],
      ['wrong-size', 'wrong-size'],
      ['wrong-type', 'wrong-type'],
      ['mislabelled', 'wrong-type'],
      ['oversized', mediaType === 'image/jpeg' ? 'wrong-type' : 'oversized'],
      ['animated', mediaType === 'image/jpeg' ? 'wrong-type' : 'animated'],
      ['compressed', 'encoded-body'],
      ['endless', 'too-long'],
    ] as const)(`no WMS tile of ${mediaType} comes through the gate of %j`, async (answer, reason) => {
      first.answer = answer;
      const request = sourceRequest({ format: formatOf(mediaType) as Format });
      const failure: unknown = await open()
        .fetch(request)
        .then(async (got) => {
          if (got.kind !== 'encoded') throw new Error('not encoded');
          return await acceptImage(got.bytes, got.mediaType, request.width, request.height);
        })
        .catch((error: unknown) => error);
      if (!isTilewardenError(failure)) throw new Error('it came through');
      expect(failure.reason).toBe(reason);
      expect(failure.message).not.toMatch(/127\.0\.0\.1|db\.internal/);
    });
  });
});
