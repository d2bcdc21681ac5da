import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeTileSource, sourceRequest } from '../../../test/contracts/tile-source.ts';
import { createVirtualClock } from '../../../test/fixtures/clocks.ts';
import { builtInGridSet } from '../../../test/fixtures/layers.ts';
import { type MockWmts, openMockWmts } from '../../../test/fixtures/mock-sources.ts';
import { showsPlace } from '../../../test/fixtures/mock-wms-pixels.ts';
import { acceptImage } from '../../../test/fixtures/pictures.ts';
import { openTestUpstream } from '../../../test/fixtures/source-tools.ts';
import { type Format, formatOf } from '../../domain/format.ts';
import { boundsOfTile, createGridSet } from '../../domain/grid-set.ts';
import { systemClock } from '../../lib/clock.ts';
import type { SourceRequest, TileSource } from '../tile-source.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import { srsOfCrs } from '../wmts-capabilities.ts';
import { openWmtsSource, wmtsSourceOptions } from './wmts-source.ts';

let contractWmts: MockWmts;
describe.each(['url', 'documentUrl'] as const)('with its %s', (which) => {
  describeTileSource(`wmts (${which})`, {
    async open() {
      contractWmts = await openMockWmts();
      const upstream = openTestUpstream();
      const options = wmtsSourceOptions.parse({
        type: 'wmts',
        url: contractWmts[which],
        layer: 'roads',
      });
      const source = openWmtsSource(options, { upstream, clock: systemClock });
      return {
        source,
        async close() {
          await source.close();
          await upstream.close();
          await contractWmts.close();
        },
      };
    },
    formats: which === 'url' ? ['image/png', 'image/jpeg', 'image/webp'] : ['image/png', 'image/webp'],
    gridSets: ['EPSG:900913', 'EPSG:4326', 'WebMercatorQuad', 'WorldCRS84Quad'],
    breakIt: () => {
      contractWmts.tileResponse = { status: 500 };
    },
    hang: () => {
      contractWmts.capabilities = 'hang';
    },
  });
});

describe('the wmts source', () => {
  let wmts: MockWmts;
  let upstream: UpstreamClient;
  const clock = createVirtualClock();
  beforeEach(async () => {
    wmts = await openMockWmts();
    upstream = openTestUpstream();
  });
  afterEach(async () => {
    await upstream.close();
    await wmts.close();
  });

  function open(options: object = {}): TileSource {
    const parsed = wmtsSourceOptions.parse({
      type: 'wmts',
      url: wmts.url,
      layer: 'roads',
      ...options,
    });
    return openWmtsSource(parsed, { upstream, clock });
  }

  function at(gridSetName: string, z: number, x: number, y: number, changes: object = {}): SourceRequest {
    const request = sourceRequest({ tiles: 1, gridSetName, ...changes });
    const rect = { minX: x, minY: y, maxX: x, maxY: y };
    const bounds = boundsOfTile(request.gridSet, z, x, y);
    return { ...request, bounds, metatile: { ...request.metatile, z, rect } };
  }
  const last = () => wmts.tileRequests().at(-1);

  it.each(['url', 'documentUrl'] as const)('a WMTS source gets the right tile by its %s', async (which) => {
    for (const gridSetName of ['EPSG:900913', 'EPSG:4326', 'WebMercatorQuad']) {
      const request = at(gridSetName, 4, 9, 5);
      const answer = await open({ url: wmts[which] }).fetch(request);
      if (answer.kind !== 'encoded') throw new Error('not encoded');
      const image = await acceptImage(answer.bytes, answer.mediaType, 256, 256);
      const place = { srs: request.gridSet.srs, bounds: request.bounds, width: 256, height: 256 };
      expect(showsPlace(image, place), gridSetName).toBe(true);
    }
  });

  it('a WMTS source requests by query with the requested style and dimensions, or their defaults', async () => {
    await open().fetch(at('EPSG:900913', 3, 5, 1));
    expect(Object.fromEntries(last()?.parameters ?? [])).toEqual({
      SERVICE: 'WMTS',
      REQUEST: 'GetTile',
      VERSION: '1.0.0',
      LAYER: 'roads',
      STYLE: 'day',
      FORMAT: 'image/png',
      TILEMATRIXSET: 'mercator',
      TILEMATRIX: 'mercator:3',
      TILEROW: '1',
      TILECOL: '5',
      Time: '2026',
    });
    const parameters = new Map([
      ['TIME', '2025'],
      ['STYLES', 'night'],
    ]);
    await open().fetch(at('EPSG:900913', 3, 5, 1, { parameters }));
    expect([last()?.parameters.get('Time'), last()?.parameters.get('STYLE')]).toEqual(['2025', 'night']);
    await open({ dimensions: { time: 2024 }, style: 'night' }).fetch(at('EPSG:900913', 3, 5, 1));
    expect([last()?.parameters.get('Time'), last()?.parameters.get('STYLE')]).toEqual(['2024', 'night']);
  });

  it('a WMTS source shows the address of its request without secrets, at first that of the capabilities', async () => {
    const source = open({ url: `${wmts.url}?token=hush` });
    const request = at('EPSG:900913', 3, 5, 1);
    expect(source.addressOf?.(request)).toMatch(/token=\*\*\*&SERVICE=WMTS&REQUEST=GetCapabilities/);
    await source.fetch(request);
    expect(source.addressOf?.(request)).toMatch(/token=\*\*\*&SERVICE=WMTS&REQUEST=GetTile.*TILECOL=5/);
    expect(source.addressOf?.(at('EPSG:900913x2', 3, 5, 1))).toContain('GetCapabilities');
  });

  it('a WMTS source replaces its own parameters in the declared address, in either case', async () => {
    await open({ url: `${wmts.url}?layer=other&TileCol=9&map=a` }).fetch(at('EPSG:900913', 3, 5, 1));
    const sent = [...(last()?.parameters ?? [])].filter(([name]) => /^(layer|tilecol|map)$/i.test(name));
    expect(sent).toEqual([
      ['map', 'a'],
      ['LAYER', 'roads'],
      ['TILECOL', '5'],
    ]);
  });

  it('a WMTS source requests by path when the document is given, or when configured', async () => {
    await open({ url: wmts.documentUrl }).fetch(at('EPSG:900913', 3, 5, 1));
    expect(last()?.path).toBe('/rest/day/mercator/mercator%3A3/1/5.png?t=2026');
    await open({ encoding: 'rest' }).fetch(at('EPSG:900913', 3, 5, 1));
    expect(last()?.path).toBe('/rest/day/mercator/mercator%3A3/1/5.png?t=2026');
    await open({ url: wmts.documentUrl, encoding: 'kvp' }).fetch(at('EPSG:900913', 3, 5, 1));
    expect(last()?.path).toMatch(/^\/wmts\?SERVICE=WMTS/);
  });

  it('a WMTS source requests the format of the tiles if the server has it, and PNG otherwise', async () => {
    await open().fetch(at('EPSG:900913', 3, 5, 1, { format: formatOf('image/jpeg') as Format }));
    expect(last()?.parameters.get('FORMAT')).toBe('image/jpeg');
    await open().fetch(at('EPSG:900913', 3, 5, 1, { format: formatOf('image/webp') as Format }));
    expect(last()?.parameters.get('FORMAT')).toBe('image/png');
  });

  it('a WMTS source touches no network when it is opened, and reads the capabilities once', async () => {
    const source = open();
    expect(wmts.requests).toHaveLength(0);
    await Promise.all([1, 2, 3].map((x) => source.fetch(at('EPSG:900913', 3, x, 1))));
    expect(wmts.capabilitiesRequests()).toBe(1);
    expect(wmts.tileRequests()).toHaveLength(3);
  });

  it('a WMTS source reads capabilities again after an hour, and keeps the old ones when that fails', async () => {
    const source = open();
    await source.fetch(at('EPSG:900913', 3, 5, 1));
    wmts.capabilities = 'html';
    clock.advance(61 * 60 * 1000);
    for (let i = 0; i < 2; i++) {
      expect(await source.fetch(at('EPSG:900913', 3, 5, 1))).toMatchObject({ kind: 'encoded' });
    }
    expect(wmts.capabilitiesRequests()).toBe(2);
  });

  it('a WMTS source recovers from invalid capabilities', async () => {
    wmts.capabilities = 'html';
    const source = open();
    await expect(source.fetch(at('EPSG:900913', 3, 5, 1))).rejects.toMatchObject({
      code: 'source-bad-answer',
      reason: 'capabilities',
    });
    wmts.capabilities = null;
    expect(await source.fetch(at('EPSG:900913', 3, 5, 1))).toMatchObject({ kind: 'encoded' });
  });

  it('a WMTS source lists what there is when nothing fits, in the cause only: strangers see the message', async () => {
    const failure = async (source: TileSource, request: SourceRequest) => {
      const error = await source.fetch(request).catch((thrown: unknown) => thrown as Error);
      expect(error).toHaveProperty('message', 'The map source does not offer what the layer declares.');
      return String((error as Error).cause);
    };
    expect(await failure(open({ layer: 'rails' }), at('EPSG:900913', 3, 5, 1))).toContain(
      'The map source has no layer rails; it has roads.',
    );
    const shifted = createGridSet({
      name: 'shifted',
      srs: 3857,
      extent: { minX: -20000000, minY: -20000000, maxX: 20075016.68, maxY: 20075016.68 },
      levels: 10,
    });
    for (const gridSet of [shifted, builtInGridSet('EPSG:900913x2'), builtInGridSet('GlobalCRS84Pixel')]) {
      expect(await failure(open(), at('', 3, 5, 1, { gridSet }))).toMatch(
        /has no tile matrix set that fits grid set \S+ at zoom 3, .*; layer roads has mercator \(urn:ogc:def:crs:EPSG::3857\), degrees/,
      );
    }
    expect(await failure(open({ tileMatrixSet: 'degrees' }), at('EPSG:900913', 3, 5, 1))).toContain(
      'has no tile matrix set degrees that fits',
    );
    expect(await failure(open(), at('EPSG:900913', 12, 5, 1))).toContain('at zoom 12');
  });

  it('a WMTS source does not request tiles outside the limits of the server', async () => {
    expect(await open().fetch(at('EPSG:4326', 3, 2, 0))).toEqual({ kind: 'nothing' });
    expect(wmts.tileRequests()).toHaveLength(0);
    expect(await open().fetch(at('EPSG:4326', 3, 1, 1))).toMatchObject({ kind: 'encoded' });
  });

  it('a WMTS source takes a status for an empty tile only when configured', async () => {
    wmts.tileResponse = { status: 404 };
    await expect(open().fetch(at('EPSG:900913', 3, 5, 1))).rejects.toMatchObject({ reason: 'status' });
    expect(await open({ absent: [404] }).fetch(at('EPSG:900913', 3, 5, 1))).toEqual({ kind: 'nothing' });
  });
});

it.each([
  ['urn:ogc:def:crs:EPSG::3857', 3857],
  ['urn:ogc:def:crs:EPSG:6.18:3:3857', 3857],
  ['EPSG:25832', 25832],
  ['http://www.opengis.net/def/crs/EPSG/0/2056', 2056],
  ['urn:ogc:def:crs:OGC:1.3:CRS84', 4326],
  ['urn:ogc:def:crs:OGC:2:84', null],
])('the CRS %s is understood', (crs, srs) => {
  expect(srsOfCrs(crs)).toBe(srs);
});
