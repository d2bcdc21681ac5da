import { describe, expect, it } from 'vitest';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { needs } from '../fixtures/needs.ts';
import { sharedMapServer } from '../fixtures/shared-services.ts';
import { ADMIN_PASSWORD, runCommand } from './server.ts';
import { openServer } from './server-in-process.ts';

const HALF_WORLD = 20037508.342789244;

describe('a layer on MapServer', needs('mapserver'), () => {
  it('seeded tiles of a layer on MapServer equal the maps that MapServer draws', async () => {
    const mapServer = await sharedMapServer();
    const config = `
upstreams: { '${new URL(mapServer.url).host}': { concurrency: 4, allowPrivate: true } }
layers:
  - name: land
    source: { type: wms, url: '${mapServer.url}', layers: land }
    formats: [image/png]
    metatile: [2, 2]
    gutter: 0
`;
    const server = await openServer({ config });
    const env = { TILEWARDEN_SERVER: server.url, TILEWARDEN_PASSWORD: ADMIN_PASSWORD };
    const seed = await runCommand(['seed', 'land', '--zoom-stop', '3', '--threads', '4', '--json'], env);
    expect(seed.code).toBe(0);
    expect(JSON.parse(seed.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
      state: 'done',
      tilesProcessed: 85,
      counters: { made: 85, failed: 0 },
    });
    for (const [z, x, y] of [
      [1, 1, 0],
      [2, 1, 1],
      [3, 4, 3],
    ] as const) {
      const tile = await fetch(`${server.url}/tiles/land/EPSG:900913/${z}/${x}/${y}.png`);
      expect([z, x, y, tile.headers.get('x-cache')]).toEqual([z, x, y, 'HIT']);
      const drawn = await fetch(`${mapServer.url}?${drawnByHand(z, x, y)}`);
      const [kept, fresh] = await Promise.all([pixelsOf(tile), pixelsOf(drawn)]);
      expect(differentShare(kept, fresh), `${z}/${x}/${y}`).toBeLessThan(0.01);
    }
    await server.stop();
  });
});

function drawnByHand(z: number, x: number, y: number): string {
  const size = (2 * HALF_WORLD) / 2 ** z;
  const [west, north] = [-HALF_WORLD + x * size, HALF_WORLD - y * size];
  const bounds = [west, north - size, west + size, north].join(',');
  const request =
    'SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=land&STYLES=&SRS=EPSG:3857&FORMAT=image/png';
  return `${request}&BBOX=${bounds}&WIDTH=256&HEIGHT=256`;
}

async function pixelsOf(response: Response): Promise<Buffer> {
  const image = await decodeImage(Buffer.from(await response.arrayBuffer()), { maxPixels: 256 * 256 });
  return image.pixels;
}

/** A tile cut from a larger picture differs from one drawn alone by a pixel here and there on slanted edges. */
function differentShare(a: Buffer, b: Buffer): number {
  let different = 0;
  for (let i = 0; i < a.length; i += 4) if (a.readUInt32LE(i) !== b.readUInt32LE(i)) different++;
  return different / (a.length / 4);
}
