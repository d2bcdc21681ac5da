import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeTileSource, sourceRequest } from '../../../test/contracts/tile-source.ts';
import { acceptImage } from '../../../test/fixtures/accept-image.ts';
import { type MockOgcTiles, openMockOgcTiles } from '../../../test/fixtures/mock-ogc-tiles.ts';
import { showsPlace } from '../../../test/fixtures/mock-wms-pixels.ts';
import { openTestUpstream } from '../../../test/fixtures/test-upstream.ts';
import { boundsOfTile } from '../../domain/grid-set.ts';
import { systemClock } from '../../lib/clock.ts';
import type { SourceRequest, TileSource } from '../tile-source.ts';
import type { SourceUpstream, UpstreamClient, UpstreamRequest } from '../upstream/upstream-client.ts';
import { ogcApiTilesDriver } from './ogcapi-tiles-source.ts';

let mock: MockOgcTiles;
let upstream: UpstreamClient;

async function openMock(): Promise<void> {
  mock = await openMockOgcTiles();
  upstream = openTestUpstream();
}

async function closeMock(): Promise<void> {
  await upstream.close();
  await mock.close();
}

function open(options: object = {}, client: SourceUpstream = upstream): TileSource {
  const settings = { type: 'ogcapi-tiles', url: mock.url, collection: 'roads', ...options };
  const tools = { upstream: client, clock: systemClock };
  return ogcApiTilesDriver.open(ogcApiTilesDriver.options.parse(settings), tools);
}

describeTileSource('ogcapi-tiles', {
  async open() {
    await openMock();
    const source = open();
    return {
      source,
      async close() {
        await source.close();
        await closeMock();
      },
    };
  },
  formats: ['image/png', 'image/jpeg', 'image/webp'],
  gridSets: ['EPSG:900913', 'EPSG:4326', 'WebMercatorQuad'],
  breakIt: () => {
    mock.tileResponse = { status: 500 };
  },
  hang: () => {
    mock.documentResponse = 'hang';
  },
});

describe('the ogcapi-tiles source', () => {
  beforeEach(openMock);
  afterEach(closeMock);

  function at(gridSetName: string, z: number, x: number, y: number): SourceRequest {
    const request = sourceRequest({ tiles: 1, gridSetName });
    const rect = { minX: x, minY: y, maxX: x, maxY: y };
    const bounds = boundsOfTile(request.gridSet, z, x, y);
    return { ...request, bounds, metatile: { ...request.metatile, z, rect } };
  }

  it.each([
    ['EPSG:900913', 3857],
    ['EPSG:4326', 4326],
  ])('a source of OGC API Tiles gets the right tile of %s', async (gridSetName, srs) => {
    const request = at(gridSetName, 3, 1, 1);
    const answer = await open().fetch(request);
    if (answer.kind !== 'encoded') throw new Error('not encoded');
    const { bounds, width, height } = request;
    const image = await acceptImage(answer.bytes, answer.mediaType, width, height);
    expect(showsPlace(image, { srs, bounds, width, height })).toBe(true);
  });

  it('documents are read once for all tiles', async () => {
    const source = open();
    await Promise.all([source.fetch(at('EPSG:4326', 3, 0, 0)), source.fetch(at('EPSG:4326', 3, 1, 0))]);
    const documents = mock.requests.length - mock.tileRequests().length;
    expect(documents).toBe(4);
  });

  it('a tile outside the limits of the server is empty, and not requested', async () => {
    expect(await open().fetch(at('EPSG:4326', 3, 5, 1))).toEqual({ kind: 'nothing' });
    expect(mock.tileRequests()).toEqual([]);
  });

  it.each([
    ['a dataset without tiles', { collection: undefined }, 'has no map tiles at'],
    ['a tile matrix set that it does not have', { tileMatrixSet: 'nope' }, 'WebMercatorQuad'],
  ])('%s is a failure that says what there is', async (_, options, words) => {
    const failure = await open(options)
      .fetch(at('EPSG:900913', 3, 0, 0))
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'source-bad-answer',
      cause: { message: expect.stringContaining(words) },
    });
  });

  it('a document that is none is a failure of the source', async () => {
    mock.documentResponse = { status: 200, body: '<html>' };
    await expect(open().fetch(at('EPSG:900913', 3, 0, 0))).rejects.toMatchObject({
      code: 'source-bad-answer',
    });
  });

  it('credentials are sent to the declared host only', async () => {
    const tileSet = mock.documents.get('/ogc/collections/roads/map/tiles/degrees') as {
      links: { href: string }[];
    };
    for (const link of tileSet.links) link.href = link.href.replace(mock.origin, 'http://elsewhere.test');
    const authorized: boolean[] = [];
    const watched = {
      get(request: UpstreamRequest) {
        authorized.push(request.headers?.authorization !== undefined);
        return upstream.get({ ...request, url: new URL(request.url.pathname, mock.origin) });
      },
    };
    await open({ username: 'u', password: 'p' }, watched).fetch(at('EPSG:4326', 3, 0, 0));
    expect(authorized).toEqual([true, true, true, false, false]);
  });
});
