/** npm run test:mapproxy -- CHECKOUT: configurations of MapProxy's own tests, imported, show the maps that MapProxy shows. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { runTilewarden, startServer } from '../e2e/server.ts';
import { type DrawingServer, drawOver, openDrawingServer } from '../fixtures/drawing-server.ts';
import { needs } from '../fixtures/needs.ts';
import { freePort } from '../fixtures/network.ts';
import { isAnswering, openDaemon } from '../fixtures/processes.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { FIXTURES, type Fixture } from './mapproxy-fixtures.ts';

const FOLDER = 'mapproxy/test/system/fixture';
/** Of 255, over all pixels and channels. */
const MAX_DIFFERENCE = 1;

/** Files that MapProxy's test of `cache_coverage` writes. */
const SHAPES = {
  'boundary.geojson': [[-40, -30], [45, -20], [30, 55], [-20, 50], [-40, -30]], // biome-ignore format: a ring
  'bbox.geojson': [[-30, -20], [40, -20], [40, 40], [-30, 40], [-30, -20]], // biome-ignore format: a ring
};

const TRUE_COLOURS = 'globals: { image: { paletted: false } }\n';

let drawing: DrawingServer;
const table: string[] = [];

beforeAll(async () => {
  drawing = await openDrawingServer();
});

afterAll(async () => {
  await drawing.close();
  process.stdout.write(`\nmean difference of 255\n${table.join('\n')}\n`);
});

describe('a configuration of MapProxy', needs('mapproxy'), () => {
  it.each(Object.entries(FIXTURES))('%s shows the maps of MapProxy', async (name, fixture) => {
    const file = copyOf(name);
    drawing.wave = fixture.wave;
    const [theirs, ours] = await Promise.all([startMapProxy(file), startImported(file)]);
    const differences: [string, number][] = [];
    for (const { there, here = there, limit = MAX_DIFFERENCE } of requestsOf(fixture)) {
      const what = decodeURIComponent(there.replace(/^.*(?=layers=)/, ''));
      const difference = await differenceOf(`${theirs}${there}`, `${ours}${here}`).catch((error: unknown) => {
        table.push(String(error));
        return Number.NaN;
      });
      if (!(difference < limit)) differences.push([what, difference]);
      table.push(`${difference.toFixed(2).padStart(7)}  ${name}: ${what}`);
    }
    expect(differences).toEqual([]);
  });
});

/** Before the drawing server, with its tiles beside it. */
function copyOf(name: string): string {
  const folder = temporaryFolder();
  const source = join(process.env.TEST_MAPPROXY ?? '', FOLDER);
  const text = readFileSync(join(source, `${name}.yaml`), 'utf8')
    .replaceAll(/http:\/\/localhost:4242\d/g, drawing.origin)
    .replace('/tmp/cache_data/', 'cache_data/')
    .replace(/paletted: True/, 'paletted: False');
  for (const [shape, ring] of Object.entries(SHAPES))
    writeFileSync(join(folder, shape), JSON.stringify({ type: 'Polygon', coordinates: [ring] }));
  const file = join(folder, 'mapproxy.yaml');
  // Its own default are 256 colours.
  const whole = /paletted/.test(text) ? text : `${text.replace(/^globals:\s*$/m, '')}\n${TRUE_COLOURS}`;
  writeFileSync(file, whole);
  return file;
}

async function startMapProxy(file: string): Promise<string> {
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const daemon = await openDaemon('mapproxy-util', ['serve-develop', '-b', address, file], {
    isReady: () => isAnswering(url),
  });
  whenOver(() => daemon.end('SIGKILL'));
  return url;
}

async function startImported(file: string): Promise<string> {
  const { code, stdout, stderr } = await runTilewarden(['import', file]);
  expect([code, stderr]).toEqual([0, expect.stringContaining('Wrote')]);
  const config = `server: { compatibility: [mapproxy] }\n${stdout}`;
  const { url } = await startServer({ config, args: ['--no-auth'] });
  return url;
}

interface Request {
  readonly there: string;
  /** The same when left out. */
  readonly here?: string;
  readonly limit?: number | undefined;
}

function requestsOf({ maps = [], tiles = [] }: Fixture): readonly Request[] {
  return [
    ...maps.map((order): Request => {
      const {
        layers,
        crs,
        box,
        size = [256, 256],
        format = 'image/png',
        transparent = true,
        more = '',
        limit,
      } = order;
      const fields = `service=WMS&version=1.1.1&request=GetMap&styles=&transparent=${transparent}&format=${format}`;
      const place = `srs=${crs}&bbox=${box.join(',')}&width=${size[0]}&height=${size[1]}${more}`;
      return { there: `/service?${fields}&layers=${layers}&${place}`, limit };
    }),
    ...tiles.map(([there, here]): Request => ({ there, here })),
  ];
}

/** Mean of all channels; colours count as much as they are opaque. */
async function differenceOf(there: string, here: string): Promise<number> {
  const [a, b] = await Promise.all([pixelsAt(there), pixelsAt(here)]);
  expect(b.length, here).toBe(a.length);
  let sum = 0;
  for (let at = 0; at < a.length; at += 4) {
    const [opaque, also] = [a[at + 3] ?? 0, b[at + 3] ?? 0];
    sum += Math.abs(opaque - also);
    for (let i = at; i < at + 3; i++) sum += Math.abs((a[i] ?? 0) * opaque - (b[i] ?? 0) * also) / 255;
  }
  return sum / a.length;
}

async function pixelsAt(url: string): Promise<Buffer> {
  const response = await fetch(url);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (!/^image\//.test(response.headers.get('content-type') ?? ''))
    throw new Error(`${url} sends ${response.status} ${bytes.toString('utf8').slice(0, 500)}`);
  const { pixels } = await decodeImage(bytes, { maxPixels: 4096 * 4096 });
  // An empty tile is PNG here, in whichever format: clients show it on white.
  return url.includes('format=image/jpeg') ? drawOver(Buffer.alloc(pixels.length, 255), pixels) : pixels;
}
