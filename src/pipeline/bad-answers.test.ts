import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../test/fixtures/eventually.ts';
import { openMockTiles } from '../../test/fixtures/mock-sources.ts';
import { type MockResponse, type MockWms, openMockWms } from '../../test/fixtures/mock-wms.ts';
import {
  openPipelineHarness,
  type PipelineHarness,
  pipelineHarnesses,
} from '../../test/fixtures/pipeline-harness.ts';
import { openTestUpstream } from '../../test/fixtures/source-tools.ts';
import { isTilewardenError } from '../domain/errors.ts';
import { type Format, formatOf } from '../domain/format.ts';
import type { TileSource } from '../sources/tile-source.ts';
import type { UpstreamClient } from '../sources/upstream/upstream-client.ts';
import { wmsSourceOptions } from '../sources/wms/map-request.ts';
import { openWmsSource } from '../sources/wms/wms-source.ts';
import { openXyzSource, xyzSourceOptions } from '../sources/xyz/xyz-source.ts';

const TILE = { z: 4, x: 5, y: 6 };
const FORMATS = ['image/png', 'image/jpeg', 'image/webp'];

interface BadResponse {
  readonly kind: string;
  readonly answers: readonly MockResponse[];
  /** What each may be counted as. */
  readonly reasons: readonly string[];
}

/** The fifteen kinds. `wrong-type` too where a server can do a thing only in another format than was asked for. */
const BAD_ANSWERS: readonly BadResponse[] = [
  { kind: '5xx', answers: [{ status: 500, body: 'broken' }], reasons: ['status'] },
  { kind: '404', answers: [{ status: 404, body: 'no such layer' }], reasons: ['status'] },
  { kind: 'XML with 200', answers: ['xml'], reasons: ['service-exception'] },
  { kind: 'XML called an image', answers: ['xml-as-image'], reasons: ['service-exception'] },
  { kind: 'HTML', answers: ['html'], reasons: ['html'] },
  { kind: 'empty', answers: ['empty'], reasons: ['empty'] },
  { kind: 'cut by length', answers: ['cut-length'], reasons: ['truncated'] },
  { kind: 'cut by chunk', answers: ['cut-chunk'], reasons: ['truncated'] },
  { kind: 'cut by close', answers: ['cut-close'], reasons: ['truncated'] },
  { kind: 'half an image with the right length', answers: ['half-image'], reasons: ['truncated'] },
  { kind: 'wrong size', answers: ['wrong-size'], reasons: ['wrong-size'] },
  { kind: 'wrong type', answers: ['wrong-type', 'mislabelled'], reasons: ['wrong-type'] },
  {
    kind: 'animated or oversized',
    answers: ['animated', 'oversized'],
    reasons: ['animated', 'oversized', 'wrong-type'],
  },
  { kind: 'compressed body', answers: ['compressed'], reasons: ['encoded-body'] },
  { kind: 'endless body', answers: ['endless'], reasons: ['too-long'] },
];

const MODES = ['metatile', 'direct'] as const;
type Mode = (typeof MODES)[number];

const servers = new Map<Mode, MockWms>();
const tally = { asked: 0, cached: 0 };

beforeAll(async () => {
  const { gridSet } = openPipelineHarness().tiles.subset;
  servers.set('metatile', await openMockWms());
  servers.set('direct', await openMockTiles({ gridSet }));
});

afterAll(async () => {
  for (const server of servers.values()) await server.close();
  process.stdout.write(`bad answers cached: ${tally.cached} of ${tally.asked}\n`);
});

function serverOf(mode: Mode): MockWms {
  const server = servers.get(mode);
  if (!server) throw new Error('no server');
  return server;
}

function openSource(mode: Mode, format: Format, upstream: UpstreamClient): TileSource {
  const { url } = serverOf(mode);
  if (mode === 'metatile') {
    return openWmsSource(wmsSourceOptions.parse({ type: 'wms', url, layers: 'roads' }), {
      upstream,
    });
  }
  const template = `${url}/{z}/{x}/{y}.${format.extensions[0]}`;
  return openXyzSource(xyzSourceOptions.parse({ type: 'xyz', url: template }), { upstream });
}

async function isKept(harness: PipelineHarness): Promise<boolean> {
  await until(() => harness.pipeline.status().flights === 0);
  return (await harness.store.get(harness.tiles.set, TILE)) !== null;
}

describe.each(MODES)('in %s mode', (mode) => {
  describe.each(FORMATS)('%s', (mediaType) => {
    it.each(BAD_ANSWERS)(`no ${mode} answer of $kind is cached as ${mediaType}, but counted`, async (bad) => {
      const format = formatOf(mediaType) as Format;
      const upstream = openTestUpstream({ maxBytes: 2 * 1024 * 1024 });
      const source = openSource(mode, format, upstream);
      const server = serverOf(mode);
      tally.asked++;
      for (const answer of bad.answers) {
        const layer = { formats: [format] as const, metatile: { columns: 2, rows: 2 } };
        const harness = openPipelineHarness({ source, layer });
        server.answer = answer;
        const failure: unknown = await harness.read(TILE.z, TILE.x, TILE.y).catch((error: unknown) => error);
        if (await isKept(harness)) tally.cached++;
        if (!isTilewardenError(failure)) throw new Error(`${JSON.stringify(answer)} was served`);
        expect(failure.code).toMatch(/^source-/);
        expect(bad.reasons).toContain(failure.reason);
        expect(harness.counts.get(`flights_failed_total ${failure.reason}`)).toBeGreaterThan(0);
        const refused = failure.code === 'source-bad-answer' ? 1 : undefined;
        expect(harness.counts.get(`gate_refusals_total ${failure.reason}`)).toBe(refused);

        server.answer = 'good';
        harness.clock.advance(1001);
        expect((await harness.read(TILE.z, TILE.x, TILE.y)).outcome).toBe('MISS');
        await harness.close();
      }
      await source.close();
      await upstream.close();
    });
  });
});

it('the bad answers are 90', () => {
  expect(tally).toEqual({ asked: BAD_ANSWERS.length * MODES.length * FORMATS.length, cached: 0 });
  expect(tally.asked).toBe(90);
});

describe('an answer for another value of a dimension', () => {
  const open = pipelineHarnesses();
  const WARNING = '99 Nearest value used: time=2026-01-01T00:00:00.000Z ISO8601 (roads)';
  const { z, x, y } = TILE;
  let upstream: UpstreamClient;
  let source: TileSource;

  beforeAll(() => {
    upstream = openTestUpstream();
    source = openSource('metatile', formatOf('image/png') as Format, upstream);
  });
  afterAll(async () => {
    await source.close();
    await upstream.close();
  });

  /** The server warns from now on. */
  async function warn(): Promise<void> {
    const server = serverOf('metatile');
    server.answer = 'good';
    await open({ source }).read(z, x, y);
    const good = await fetch(server.origin + (server.requests.at(-1)?.path ?? ''));
    const headers = { 'content-type': 'image/png', warning: WARNING };
    server.answer = { status: 200, headers, body: Buffer.from(await good.arrayBuffer()) };
  }

  it('an answer for another value of a dimension is shown with its warning, and not kept', async () => {
    await warn();
    const harness = open({ source });
    for (const _ of [1, 2]) {
      expect(await harness.read(z, x, y)).toMatchObject({ outcome: 'BYPASS', warning: WARNING });
      expect(await isKept(harness)).toBe(false);
    }
    serverOf('metatile').answer = 'good';
    expect(await harness.read(z, x, y)).toMatchObject({ outcome: 'MISS' });
    expect(await harness.read(z, x, y)).toMatchObject({ outcome: 'HIT' });
  });

  it('an answer for another value of a dimension is a failure of a task', async () => {
    await warn();
    await expect(open({ source }).renew('all', z, x, y)).rejects.toMatchObject({
      code: 'source-bad-answer',
      reason: 'other-value',
      upstream: { text: WARNING },
    });
  });
});
