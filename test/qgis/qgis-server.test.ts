/** npm run test:qgis: QGIS brings more packages than all other programs that tests drive. */
import { describe, expect, it } from 'vitest';
import { decodeImage } from '../../src/raster/decode-image.ts';
import { ADMIN_PASSWORD, type RunningServer, runTilewarden, startServer } from '../e2e/server.ts';
import { untilStored } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { openQgisServer } from '../fixtures/qgis-server.ts';
import { snippetOf } from '../fixtures/recipe.ts';
import { whenOver } from '../fixtures/when-over.ts';

async function tile({ url }: RunningServer, path: string) {
  const response = await fetch(`${url}/tiles/${path}`);
  const [type, cache] = ['content-type', 'x-cache'].map((name) => response.headers.get(name));
  return { status: response.status, type, cache, bytes: Buffer.from(await response.arrayBuffer()) };
}

describe('the recipe for QGIS Server', needs('qgis-server'), () => {
  it('tiles of a project are drawn once, cleared and seeded again as the page says', async () => {
    const qgis = await openQgisServer();
    whenOver(() => qgis.close());
    const config = snippetOf('qgis-server', 'yaml')
      .replaceAll('qgis.internal:80', qgis.host)
      .replaceAll('qgis.internal/', `${qgis.host}/`)
      .replace('/srv/projects/city.qgz', qgis.project);
    const server = await startServer({ config });
    const drawn = await tile(server, 'project/1/1/0.png');
    expect(drawn).toMatchObject({ status: 200, type: 'image/png', cache: 'MISS' });
    await untilStored(server);
    expect(await tile(server, 'project/1/1/1.png')).toMatchObject({ cache: 'HIT' });
    const { pixels } = await decodeImage(drawn.bytes, { maxPixels: 256 * 256 });
    expect(new Set(new Uint32Array(new Uint8Array(pixels).buffer)).size).toBeGreaterThan(2);
    const env = { TILEWARDEN_SERVER: server.url, TILEWARDEN_PASSWORD: ADMIN_PASSWORD };
    for (const line of snippetOf('qgis-server', 'sh').trim().split('\n')) {
      const [, ...args] = line.split(' ');
      expect([line, await runTilewarden(args, { env })]).toMatchObject([line, { code: 0 }]);
    }
    expect(await tile(server, 'project/1/0/0.png')).toMatchObject({ cache: 'HIT' });
  });
});
