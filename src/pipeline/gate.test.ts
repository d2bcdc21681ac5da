import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { tilesIn } from '../../test/contracts/tile-store-tools.ts';
import { until } from '../../test/fixtures/eventually.ts';
import { type MockResponse, type MockWms, openMockWms } from '../../test/fixtures/mock-wms.ts';
import { showsPlace } from '../../test/fixtures/mock-wms-pixels.ts';
import { acceptImage } from '../../test/fixtures/pictures.ts';
import { openPipelineHarness, type PipelineHarness } from '../../test/fixtures/pipeline-harness.ts';
import { type Format, formatOf } from '../domain/format.ts';
import { boundsOfTile } from '../domain/grid-set.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import type { TileSource } from '../sources/tile-source.ts';
import {
  openUpstreamClient,
  type UpstreamClient,
  type UpstreamLimits,
} from '../sources/upstream/upstream-client.ts';
import { upstreamOptions } from '../sources/upstream/upstream-options.ts';
import { wmsSourceOptions } from '../sources/wms/map-request.ts';
import { openWmsSource } from '../sources/wms/wms-source.ts';

/** Beside the fifteen kinds in bad-answers.test.ts. */
const BAD_ANSWERS: readonly MockResponse[] = [
  { status: 503, body: 'later' },
  { status: 204 },
  'wrong-size',
  'redirect',
  'reset',
];
const MODES = [
  { mode: 'metatile', metatile: { columns: 2, rows: 2 } },
  { mode: 'single-tile', metatile: { columns: 1, rows: 1 } },
];
const FORMATS = ['image/png', 'image/jpeg', 'image/webp'];
const TILE = { z: 4, x: 5, y: 6 };

let wms: MockWms;
let patient: UpstreamClient;
let impatient: UpstreamClient;
let source: TileSource;
let harness: PipelineHarness;

beforeAll(async () => {
  wms = await openMockWms();
  patient = openUpstream({ maxBytes: 2 * 1024 * 1024 });
  impatient = openUpstream({ firstByteMs: 200, totalMs: 400 });
  source = openSource(patient);
});

afterEach(async () => {
  wms.release();
  await harness.close();
});

afterAll(async () => {
  await source.close();
  await patient.close();
  await impatient.close();
  await wms.close();
});

function openUpstream(limits: Partial<UpstreamLimits>): UpstreamClient {
  const upstreams = { [new URL(wms.url).host]: upstreamOptions.parse({ allowPrivate: true }) };
  return openUpstreamClient({
    userAgent: 'Tilewarden',
    upstreams,
    clock: systemClock,
    log: silentLogger,
    limits,
  });
}

function openSource(upstream: UpstreamClient): TileSource {
  return openWmsSource(wmsSourceOptions.parse({ type: 'wms', url: wms.url, layers: 'roads' }), {
    upstream,
  });
}

function format(mediaType: string): Format {
  const found = formatOf(mediaType);
  if (!found) throw new Error(`no format ${mediaType}`);
  return found;
}

async function showsRoads(bytes: Buffer, mediaType: string): Promise<boolean> {
  const { gridSet } = harness.tiles.subset;
  const image = await acceptImage(bytes, mediaType, gridSet.tileWidth, gridSet.tileHeight);
  const bounds = boundsOfTile(gridSet, TILE.z, TILE.x, TILE.y);
  const parameters = new Map([['LAYERS', 'roads']]);
  const lossy = mediaType !== 'image/png';
  return showsPlace(
    image,
    { srs: 3857, bounds, width: image.width, height: image.height, parameters },
    lossy,
  );
}

async function tilesInStore(): Promise<number> {
  let count = 0;
  for await (const _ of tilesIn(harness.store, harness.tiles.set, TILE.z)) count++;
  return count;
}

describe.each(MODES)('in $mode mode', ({ mode, metatile }) => {
  it.each(['hang', 'hang-body'] as const)(`a ${mode} request that gets %s is given up`, async (answer) => {
    harness = openPipelineHarness({ source: openSource(impatient), layer: { metatile } });
    wms.answer = answer;
    await expect(harness.read(TILE.z, TILE.x, TILE.y)).rejects.toMatchObject({ code: 'source-timeout' });
    expect(await tilesInStore()).toBe(0);
  });

  describe.each(FORMATS)('%s', (mediaType) => {
    it.each(BAD_ANSWERS.map((answer) => [JSON.stringify(answer), answer] as const))(
      `the bad ${mode} answer %s is never cached or served as ${mediaType}, and the next good one is`,
      async (_, answer) => {
        harness = openPipelineHarness({ source, layer: { metatile, formats: [format(mediaType)] } });
        wms.answer = answer;
        await expect(harness.read(TILE.z, TILE.x, TILE.y)).rejects.toMatchObject({
          code: expect.stringMatching(/^source-/),
        });
        await until(() => harness.pipeline.status().flights === 0);
        expect(await tilesInStore()).toBe(0);
        expect(harness.pipeline.status().memoryTierTiles).toBe(0);

        wms.answer = 'good';
        harness.clock.advance(1001);
        const { bytes, outcome } = await harness.read(TILE.z, TILE.x, TILE.y);
        expect(outcome).toBe('MISS');
        expect(await showsRoads(bytes, mediaType)).toBe(true);
      },
    );
  });
});

describe('200 readers of one missing tile of a real server', () => {
  it.each<[string, MockResponse]>([
    ['healthy', 'good'],
    ['failing', { status: 503 }],
    ['hanging', 'hang'],
  ])('200 readers of one missing tile cost one request when the server is %s', async (_, answer) => {
    harness = openPipelineHarness({ source: answer === 'hang' ? openSource(impatient) : source });
    wms.answer = answer;
    const before = wms.requests.length;
    await Promise.allSettled(Array.from({ length: 200 }, () => harness.read(TILE.z, TILE.x, TILE.y)));
    expect(wms.requests.length - before).toBe(1);
  });
});

describe('opaque tiles', () => {
  const vector = format('application/vnd.mapbox-vector-tile');
  const opaque = (bytes: Buffer, type: string | null) => {
    harness = openPipelineHarness({ layer: { formats: [vector], gutter: 10 } });
    harness.source.answer = () => ({ kind: 'encoded', bytes, mediaType: type });
    return harness.read(TILE.z, TILE.x, TILE.y);
  };

  it('opaque tiles are passed on unchanged, one at a time', async () => {
    const bytes = Buffer.from([0x1a, 0x03, 0x0a, 0x01, 0x61]);
    expect((await opaque(bytes, 'application/x-protobuf')).bytes.equals(bytes)).toBe(true);
    expect(harness.source.requests[0]).toMatchObject({
      width: 64,
      height: 64,
      metatile: { column: 5, row: 6 },
    });
  });

  it('opaque tiles are refused when they are empty, a page or an error message', async () => {
    await expect(opaque(Buffer.alloc(0), 'application/x-protobuf')).rejects.toMatchObject({
      reason: 'empty',
    });
    for (const type of ['text/html', 'application/json', 'application/vnd.ogc.se_xml', 'text/plain']) {
      await expect(opaque(Buffer.from('oops'), type)).rejects.toMatchObject({ code: 'source-bad-answer' });
    }
    await expect(opaque(Buffer.from('<html>'), null)).rejects.toMatchObject({ code: 'source-bad-answer' });
  });
});
