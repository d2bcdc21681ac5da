import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeTileSource, sourceRequest } from '../../../test/contracts/tile-source.ts';
import { builtInGridSet } from '../../../test/fixtures/layers.ts';
import { type MockRequest, type MockResponse, openMockWms } from '../../../test/fixtures/mock-wms.ts';
import { showsPlace } from '../../../test/fixtures/mock-wms-pixels.ts';
import { acceptImage } from '../../../test/fixtures/pictures.ts';
import { openTestUpstream } from '../../../test/fixtures/source-tools.ts';
import { boundsOfTile, type GridSet } from '../../domain/grid-set.ts';
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

const SETS: Readonly<Record<string, { readonly gridSet: GridSet; readonly crs: string }>> = {
  WebMercatorQuad: {
    gridSet: builtInGridSet('WebMercatorQuad'),
    crs: 'http://www.opengis.net/def/crs/EPSG/0/3857',
  },
  degrees: {
    gridSet: builtInGridSet('EPSG:4326'),
    crs: 'http://www.opengis.net/def/crs/EPSG/0/4326',
  },
};
const LEVELS = 10;
const REL = 'http://www.opengis.net/def/rel/ogc/1.0/';

type MockOgcTiles = Awaited<ReturnType<typeof openMockOgcTiles>>;

/**
 * A server of OGC API – Tiles on 127.0.0.1 with one collection, `roads`, in web mercator and in degrees. It draws and
 * misbehaves as the mock WMS does, except for its documents, which stay good.
 */
async function openMockOgcTiles() {
  const mock = await openMockWms({ read: readTileRequest });
  const documents = documentsAt(mock.origin);
  const isTile = ({ path }: MockRequest) => /\/tiles\/[^/]+\/\d/.test(path);
  const server = Object.assign(mock, {
    url: `${mock.origin}/ogc`,
    documents,
    tileResponse: 'good' as MockResponse,
    documentResponse: null as MockResponse | null,
    tileRequests: () => mock.requests.filter(isTile),
  });
  server.answer = (request) => {
    if (isTile(request)) return server.tileResponse;
    const document = documents.get(new URL(request.path, mock.origin).pathname);
    if (!document) return { status: 404 };
    const headers = { 'content-type': 'application/json' };
    return server.documentResponse ?? { status: 200, headers, body: JSON.stringify(document) };
  };
  return server;
}

function documentsAt(origin: string): Map<string, unknown> {
  const roads = `${origin}/ogc/collections/roads`;
  const tiles = `${roads}/map/tiles`;
  const json = 'application/json';
  const documents = new Map<string, unknown>([
    ['/ogc', { links: [{ rel: 'data', href: `${origin}/ogc/collections`, type: json }] }],
    [
      '/ogc/collections/roads',
      {
        id: 'roads',
        links: [
          { rel: `${REL}tilesets-map`, href: `${tiles}?f=html`, type: 'text/html' },
          { rel: `${REL}tilesets-map`, href: tiles, type: json },
        ],
      },
    ],
    [
      '/ogc/collections/roads/map/tiles',
      {
        tilesets: Object.entries(SETS).map(([id, { crs }]) => ({
          dataType: 'map',
          crs,
          tileMatrixSetURI: `http://www.opengis.net/def/tilematrixset/OGC/1.0/${id}`,
          links: [{ rel: 'self', href: `tiles/${id}`, type: json }],
        })),
      },
    ],
  ]);
  for (const [id, { gridSet, crs }] of Object.entries(SETS)) {
    const item = { rel: 'item', templated: true };
    const path = `${tiles}/${id}/{tileMatrix}/{tileRow}/{tileCol}`;
    const scheme = { rel: `${REL}tiling-scheme`, href: `${origin}/ogc/tileMatrixSets/${id}`, type: json };
    documents.set(`/ogc/collections/roads/map/tiles/${id}`, {
      dataType: 'map',
      crs,
      tileMatrixSetURI: `http://www.opengis.net/def/tilematrixset/OGC/1.0/${id}`,
      ...(id === 'degrees' && { tileMatrixSetLimits: [LIMITS] }),
      links: [
        { ...item, href: `${path}?f=png`, type: 'image/png' },
        { ...item, href: `${path}?f=jpeg`, type: 'image/jpeg' },
        // A registered one is known by its name.
        ...(id === 'degrees' ? [scheme] : []),
      ],
    });
    documents.set(`/ogc/tileMatrixSets/${id}`, { id, crs, tileMatrices: matricesOf(gridSet) });
  }
  return documents;
}

const LIMITS = { tileMatrix: '3', minTileRow: 0, maxTileRow: 1, minTileCol: 0, maxTileCol: 1 };

function matricesOf(gridSet: GridSet): readonly object[] {
  return gridSet.levels.slice(0, LEVELS).map((level, z) => ({
    id: String(z),
    scaleDenominator: level.scaleDenominator,
    cellSize: level.resolution,
    cornerOfOrigin: 'topLeft',
    pointOfOrigin: gridSet.yCoordinateFirst
      ? [level.top, gridSet.extent.minX]
      : [gridSet.extent.minX, level.top],
    tileWidth: gridSet.tileWidth,
    tileHeight: gridSet.tileHeight,
    matrixWidth: level.columns,
    matrixHeight: level.rows,
  }));
}

function readTileRequest(message: IncomingMessage, version: number): MockRequest {
  const path = message.url ?? '';
  const { searchParams, pathname } = new URL(path, 'http://mock');
  const [set = '', z = 0, y = 0, x = 0] = pathname.replace(/^.*\/tiles\//, '').split('/');
  const { gridSet } = SETS[set] ?? { gridSet: builtInGridSet('EPSG:4326') };
  return {
    method: message.method ?? '',
    path,
    parameters: new Map(searchParams),
    headers: message.headers,
    place: {
      srs: gridSet.srs,
      bounds: boundsOfTile(gridSet, Number(z) || 0, Number(x) || 0, Number(y) || 0),
      width: gridSet.tileWidth,
      height: gridSet.tileHeight,
      version,
    },
    format: searchParams.get('f') === 'jpeg' ? 'image/jpeg' : 'image/png',
    at: performance.now(),
  };
}
