import { describe, expect, it } from 'vitest';
import {
  catalogOf,
  createTestApp,
  format,
  layerNamed,
  slopeAt,
  slopingTiles,
  subset,
} from '../../../../test/fixtures/http-app.ts';
import { createGridSubset } from '../../../domain/grid-subset.ts';
import { projectionOfSrs } from '../../../domain/projection.ts';
import { readXml } from '../../../lib/xml/read-xml.ts';
import type { XmlElement } from '../../../lib/xml/xml-element.ts';
import { decodeImage } from '../../../raster/decode-image.ts';

const { gridSet } = subset('EPSG:4326', 12);
const extent = { minX: 5, minY: 45, maxX: 15, maxY: 55 };
const europe = createGridSubset(gridSet, { extent, zoomStart: 3, zoomStop: 5 });
const catalog = catalogOf([
  layerNamed('world'),
  layerNamed('a.png', { title: 'Dots & <signs>', gridSubsets: [europe] }),
]);

function all(node: XmlElement, name: string): readonly XmlElement[] {
  return node.children.flatMap((child) => (child.name === name ? [child] : all(child, name)));
}
const texts = (node: XmlElement, name: string) => all(node, name).map(({ text }) => text);

async function kml(url: string) {
  const { request } = createTestApp({ deps: { catalog } });
  const answer = await request('GET', url, { headers: { host: 'maps.example' } });
  expect(answer.status, answer.text).toBe(200);
  return {
    answer,
    root: readXml(answer.text, { bytes: 1e6, depth: 20, elements: 1e4, attributes: 32 }),
  };
}

describe('KML', () => {
  it('KML begins with the coarsest tiles, by the address the caller used', async () => {
    const { answer, root } = await kml('/geowebcache/service/kml/world.jpeg.kml?STYLES=dark&other=1');
    expect(answer.headers).toMatchObject({
      'content-type': 'application/vnd.google-earth.kml+xml; charset=utf-8',
      'cache-control': 'no-cache',
    });
    expect(texts(root, 'href')).toEqual([
      'http://maps.example/geowebcache/service/kml/world/x0y0z0.jpeg.kml?STYLES=dark',
      'http://maps.example/geowebcache/service/kml/world/x1y0z0.jpeg.kml?STYLES=dark',
    ]);
    expect(texts(root, 'west')).toEqual(['-180', '0']);
  });

  it('KML goes from tile to finer tiles and shows the picture between', async () => {
    const { root } = await kml('/service/kml/world/x1y0z0.png.kml');
    expect(texts(root, 'href')).toEqual([
      'http://maps.example/service/kml/world/x2y1z1.png.kml',
      'http://maps.example/service/kml/world/x3y1z1.png.kml',
      'http://maps.example/service/kml/world/x2y0z1.png.kml',
      'http://maps.example/service/kml/world/x3y0z1.png.kml',
      'http://maps.example/service/kml/world/x1y0z0.png',
    ]);
    const [box] = all(root, 'LatLonBox');
    expect(box?.children.map(({ name, text }) => [name, Number(text)])).toEqual([
      ['north', 90],
      ['south', -90],
      ['east', 180],
      ['west', 0],
    ]);
  });

  it('KML leads through zooms that the layer lacks to those it has, and no further', async () => {
    const paths = ['/service/kml/a.png.kml'];
    const overlays: string[] = [];
    const seen = new Set<string>();
    while (paths.length > 0) {
      const path = paths.shift() ?? '';
      expect(seen.has(path)).toBe(false);
      seen.add(path);
      const { root } = await kml(path);
      const found = texts(root, 'href').map((href) => href.replace('http://maps.example', ''));
      paths.push(...found.filter((href) => href.endsWith('.kml')));
      overlays.push(...found.filter((href) => !href.endsWith('.kml')));
    }
    const offered = europe.coverages.reduce(
      (sum, rect) => sum + (rect ? (rect.maxX - rect.minX + 1) * (rect.maxY - rect.minY + 1) : 0),
      0,
    );
    expect(overlays).toHaveLength(offered);
    expect(overlays.every((href) => href.startsWith('/service/kml/a.png/x'))).toBe(true);
  });

  it('KML escapes names', async () => {
    const { answer, root } = await kml('/service/kml/a.png.kml');
    expect(texts(root, 'name')[0]).toBe('Dots & <signs>');
    expect(answer.text).toContain('Dots &amp; &lt;signs&gt;');
  });

  it('KML answers tiles with rows from the bottom, with the headers of other services', async () => {
    const { request } = createTestApp({ deps: { catalog } });
    const { status, headers } = await request('GET', '/service/kml/world/x2y1z1.png');
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'image/png',
      'geowebcache-tile-index': '[2, 1, 1]',
      'cache-control': 'max-age=7200, must-revalidate',
    });
    const again = await request('GET', '/service/kml/world/x2y1z1.png', {
      headers: { 'if-none-match': String(headers.etag) },
    });
    expect(again.status).toBe(304);
  });

  it('KML of a layer in another CRS shows pictures in degrees that are warped from its tiles', async () => {
    const mercator = layerNamed('mercator', {
      gridSubsets: [subset('EPSG:900913', 4)],
      formats: [format('image/jpeg')],
    });
    const { read } = slopingTiles();
    const deps = { catalog: catalogOf([mercator]), pipeline: { read } };
    const { inject } = createTestApp({ deps });
    const hrefs = async (path: string) =>
      [...(await inject(path)).body.matchAll(/<href>(.*?)<\/href>/g)].map(([, href]) => href);
    expect(await hrefs('/service/kml/mercator.kml')).toEqual([
      expect.stringMatching(/x0y0z0\.png\.kml$/),
      expect.stringMatching(/x1y0z0\.png\.kml$/),
    ]);
    expect(await hrefs('/service/kml/mercator/x2y1z1.png.kml')).toHaveLength(5);
    expect(await hrefs('/service/kml/mercator/x8y4z3.png.kml')).toEqual([
      expect.stringMatching(/x8y4z3\.png$/),
    ]);
    const answer = await inject('/service/kml/mercator/x2y1z1.png');
    expect(answer.headers).toMatchObject({ 'content-type': 'image/png', 'geowebcache-crs': 'EPSG:4326' });
    const { pixels } = await decodeImage(answer.rawPayload, { maxPixels: 256 * 256 });
    const [longitude, latitude] = [0 + (100.5 * 90) / 256, 90 - (200.5 * 90) / 256];
    const place = projectionOfSrs(3857)?.fromLonLat(longitude, latitude) ?? [0, 0];
    const slope = slopeAt(subset('EPSG:900913', 4).gridSet, ...place);
    for (const [channel, value] of slope.entries())
      expect(Math.abs((pixels[4 * (200 * 256 + 100) + channel] ?? 0) - value)).toBeLessThanOrEqual(2);
    expect(pixels[3], 'the pole is not in web mercator').toBe(0);
    expect((await inject('/service/kml/mercator/x0y0z9.png')).statusCode).toBe(404);
    expect((await inject('/service/kml/mercator/x2y1z1.tiff')).statusCode).toBe(400);
  });

  it('KML documents are compressed', async () => {
    const { inject } = createTestApp({ deps: { catalog } });
    const answer = await inject('/service/kml/world.kmz');
    expect(answer.headers['content-type']).toBe('application/vnd.google-earth.kmz');
    expect(answer.rawPayload.subarray(0, 2).toString()).toBe('PK');
    const unchanged = await inject({
      url: '/service/kml/world.kmz',
      headers: { 'if-none-match': String(answer.headers.etag) },
    });
    expect(unchanged.statusCode).toBe(304);
  });

  it('KML shows no closed layer without credentials', async () => {
    const closed = catalogOf([layerNamed('closed', { access: 'admin' })]);
    const access = { authenticate: async () => null } as never;
    const { request } = createTestApp({ deps: { catalog: closed }, access });
    for (const path of ['closed.kml', 'closed/x0y0z0.png', 'closed/x0y0z0.png.kml']) {
      expect((await request('GET', `/service/kml/${path}`)).status).toBe(401);
    }
  });
});
