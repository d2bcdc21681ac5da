import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeTileSource, sourceRequest } from '../../../test/contracts/tile-source.ts';
import { type MockRequest, type MockWms, openMockWms } from '../../../test/fixtures/mock-wms.ts';
import { showsPlace } from '../../../test/fixtures/mock-wms-pixels.ts';
import { acceptImage } from '../../../test/fixtures/pictures.ts';
import { openTestUpstream } from '../../../test/fixtures/source-tools.ts';
import { type Format, formatOf } from '../../domain/format.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import { arcgisDriver } from './arcgis-source.ts';

const MAPS = '/arcgis/rest/services/roads/MapServer';
const IMAGES = '/arcgis/rest/services/aerial/ImageServer';

/** Draws what `export` and `exportImage` are asked for as the mock WMS does. */
function readExport(message: IncomingMessage, version: number): MockRequest {
  const path = message.url ?? '';
  const query = new URL(path, 'http://mock').searchParams;
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = (query.get('bbox') ?? '').split(',').map(Number);
  const [width = 0, height = 0] = (query.get('size') ?? '').split(',').map(Number);
  const place = {
    srs: Number(query.get('imageSR')),
    bounds: { minX, minY, maxX, maxY },
    width,
    height,
    version,
  };
  return {
    method: message.method ?? '',
    path,
    parameters: new Map(query),
    headers: message.headers,
    place,
    format: query.get('format') === 'jpg' ? 'image/jpeg' : 'image/png',
    at: performance.now(),
  };
}

let mock: MockWms;
let upstream: UpstreamClient;

async function openMock(): Promise<void> {
  mock = await openMockWms({ read: readExport });
  upstream = openTestUpstream();
}

async function closeMock(): Promise<void> {
  await upstream.close();
  await mock.close();
}

function open(options: object = {}, path = MAPS) {
  const settings = { type: 'arcgis', url: mock.origin + path, ...options };
  return arcgisDriver.open(arcgisDriver.options.parse(settings), { upstream });
}

const lastQuery = () => Object.fromEntries(mock.requests.at(-1)?.parameters ?? []);
const lastPath = () => mock.requests.at(-1)?.path.split('?')[0];

describeTileSource('arcgis', {
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
  breakIt: () => {
    mock.answer = { status: 500 };
  },
  hang: () => {
    mock.answer = 'hang';
  },
});

describe('the arcgis source', () => {
  beforeEach(openMock);
  afterEach(closeMock);

  it.each([
    [MAPS, `${MAPS}/export`],
    [`${MAPS}/`, `${MAPS}/export`],
    [IMAGES, `${IMAGES}/exportImage`],
  ])('an ArcGIS source gets the picture of the right place from %s', async (path, asked) => {
    const request = sourceRequest();
    const answer = await open({}, path).fetch(request);
    if (answer.kind !== 'encoded') throw new Error('not encoded');
    const { bounds, width, height } = request;
    const image = await acceptImage(answer.bytes, answer.mediaType, width, height);
    expect(showsPlace(image, { srs: 3857, bounds, width, height })).toBe(true);
    expect(lastPath()).toBe(asked);
  });

  it('an ArcGIS source sends its options, and parameters of the request by the names of the server', async () => {
    const options = {
      layers: 'show:0,2',
      transparent: true,
      parameters: { layerDefs: '0:a=1' },
      token: 'secret-1',
    };
    const source = open(options);
    const request = sourceRequest({
      parameters: new Map([
        ['TIME', '1750000000000'],
        ['OTHER', 'x'],
      ]),
    });
    await source.fetch(request);
    expect(lastQuery()).toMatchObject({
      layers: 'show:0,2',
      layerDefs: '0:a=1',
      time: '1750000000000',
      OTHER: 'x',
      transparent: 'true',
      format: 'png32',
      bboxSR: '3857',
      dpi: '96',
      token: 'secret-1',
      f: 'image',
    });
    expect(source.addressOf?.(request)).not.toContain('secret-1');
  });

  it('an ArcGIS source asks for JPEG without transparency', async () => {
    await open({ transparent: true }).fetch(sourceRequest({ format: formatOf('image/jpeg') as Format }));
    expect(lastQuery()).toMatchObject({ format: 'jpg', transparent: 'false' });
  });

  const pixel = { i: 256, j: 0, infoFormat: 'application/json', featureCount: 1 };

  it('an ArcGIS source identifies at the centre of a pixel, among the layers that it shows', async () => {
    mock.answer = { status: 200, headers: { 'content-type': 'text/plain' }, body: '{"results":[]}' };
    const request = sourceRequest();
    const answer = await open({ layers: 'show:0,2' }).featureInfo?.({ ...request, ...pixel });
    expect(answer).toMatchObject({ mediaType: 'application/json' });
    expect(lastPath()).toBe(`${MAPS}/identify`);
    const { geometry, ...query } = lastQuery();
    const [x = 0, y = 0] = (geometry ?? '').split(',').map(Number);
    const step = (request.bounds.maxX - request.bounds.minX) / request.width;
    expect(x).toBeCloseTo(request.bounds.minX + 256.5 * step, 3);
    expect(y).toBeCloseTo(request.bounds.maxY - 0.5 * step, 3);
    expect(query).toMatchObject({ layers: 'visible:0,2', sr: '3857', imageDisplay: '512,512,96', f: 'json' });
  });

  it('an ArcGIS source refuses an error that comes with status 200, and formats that the server does not have', async () => {
    mock.answer = { status: 200, headers: { 'content-type': 'text/plain' }, body: '{"error":{"code":400}}' };
    const source = open({}, IMAGES);
    const request = { ...sourceRequest(), ...pixel };
    await expect(source.featureInfo?.(request)).rejects.toMatchObject({ code: 'source-bad-answer' });
    await expect(source.featureInfo?.({ ...request, infoFormat: 'text/plain' })).rejects.toMatchObject({
      code: 'request-invalid',
      message: expect.stringContaining('text/html or application/json') as string,
    });
  });

  it.each([
    [{ url: 'http://host/arcgis/rest/services/roads' }, 'must end with /MapServer or /ImageServer'],
    [{ layers: '0,2' }, 'must be like show:0,2'],
  ])('an ArcGIS source refuses %j', (options, message) => {
    const settings = { type: 'arcgis', url: `http://host${MAPS}`, ...options };
    const result = arcgisDriver.options.safeParse(settings);
    expect(result.error?.issues[0]?.message).toContain(message);
  });
});
