import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, openTestAccounts } from '../../../test/fixtures/accounts.ts';
import { catalogOf, createTestApp, format, layerNamed, subset } from '../../../test/fixtures/http-app.ts';
import { retinaSubset } from '../../domain/grid-subset.ts';
import { createAccountAccess } from '../auth/access.ts';

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

/** The text that a parser reads from escaped markup. */
function decodeXml(text: string): string {
  return text.replace(/&(?:#(\d+)|(\w+));/g, (_, number?: string, name = '') =>
    number === undefined ? (ENTITIES[name] ?? '') : String.fromCodePoint(Number(number)),
  );
}

async function openPage(layer = layerNamed('world'), prefix = '') {
  const { request } = createTestApp({ deps: { catalog: catalogOf([layer]) } });
  const answer = await request('GET', `${prefix}/layers/${encodeURIComponent(layer.name)}`);
  const snippets = new Map(
    Array.from(answer.text.matchAll(/<pre id="([\w-]+)"[^>]*>([^<]*)<\/pre>/g), ([, id = '', text = '']) => [
      id,
      decodeXml(text),
    ]),
  );
  return { ...answer, snippets };
}

describe('the page of a layer', () => {
  it('the page of a layer has an address for each client, below the prefix that the caller used', async () => {
    const { status, headers, snippets } = await openPage(layerNamed('a/b'), '/geowebcache');
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect([...snippets.keys()]).toEqual([
      ...['xyz', 'qgis', 'openlayers', 'leaflet', 'maplibre', 'tilejson', 'gdal', 'arcgis', 'arcgis-js'],
      ...['ogc-api', 'wms', 'tms', 'curl'],
    ]);
    for (const text of snippets.values()) expect(text).toContain('http://localhost/geowebcache/');
    expect(snippets.get('xyz')).toBe('http://localhost/geowebcache/tiles/a%2Fb/{z}/{x}/{y}.png');
    expect(snippets.get('ogc-api')).toBe('http://localhost/geowebcache/ogc/collections/a%2Fb');
    expect(snippets.get('wms')).toMatch(/\/service\/wms\?SERVICE=WMS&REQUEST=GetCapabilities&TILED=true$/);
  });

  it('the page of a layer offers OGC API – Tiles to GDAL only with the grid set that GDAL 3.6 reads', async () => {
    expect((await openPage(layerNamed('a'))).text).toContain('For GDAL use WMTS: GDAL 3.6 needs');
    const gridSubsets = [subset('WorldCRS84Quad', 3)] as const;
    const { text } = await openPage(layerNamed('a', { gridSubsets }));
    expect(text).toContain('-oo TILEMATRIXSET=WorldCRS84Quad');
    expect(text).not.toContain('For GDAL use WMTS');
  });

  it('the page of a layer gives dense tiles to Leaflet if there are some', async () => {
    const gridSubsets = [subset('EPSG:900913', 3)] as const;
    const dense = layerNamed('a', { gridSubsets, retinaSubsets: gridSubsets.map(retinaSubset) });
    expect((await openPage(dense)).snippets.get('leaflet')).toContain('/{z}/{x}/{y}{r}.png');
    expect((await openPage()).snippets.get('leaflet')).toContain('/{z}/{x}/{y}.png');
  });

  it('the page of a layer without web mercator leaves out clients that need it', async () => {
    const { snippets } = await openPage(layerNamed('deg', { gridSubsets: [subset('EPSG:4326', 3)] }));
    expect([...snippets.keys()]).toEqual([
      ...['xyz', 'qgis', 'openlayers', 'gdal', 'arcgis', 'ogc-api', 'wms', 'tms', 'curl'],
    ]);
  });

  it('the page of a layer has links for other grid sets and formats, and back to the map and the console', async () => {
    const gridSubsets = [subset('EPSG:900913', 3), subset('EPSG:4326', 3)] as const;
    const formats = [format('image/png'), format('image/jpeg')] as const;
    const { text } = await openPage(layerNamed('a/b', { gridSubsets, formats }));
    const links = Array.from(text.matchAll(/<a href="([^"]*)">/g), ([, address = '']) => decodeXml(address));
    expect(links).toContain('http://localhost/#layer=a%2Fb');
    expect(links).toContain('http://localhost/#/layers/a%2Fb');
    const others = links
      .filter((address) => address.includes('?gridSet='))
      .map((address) => new URL(address));
    expect(others.map(({ searchParams }) => [...searchParams.values()].slice(0, 2).join(' '))).toEqual([
      'EPSG:4326 image/png',
      'EPSG:900913 image/jpeg',
      'EPSG:900913 image/png',
    ]);
    expect(others[2]?.searchParams.get('STYLES')).toBe('dark');
  });

  it('the page of a layer describes the tile set in its address, as the API does', async () => {
    const gridSubsets = [subset('EPSG:900913', 3), subset('EPSG:4326', 3)] as const;
    const { request } = createTestApp({ deps: { catalog: catalogOf([layerNamed('a', { gridSubsets })]) } });
    const query = 'format=image/png&STYLES=dark';
    const page = await request('GET', `/layers/a?gridSet=EPSG:4326&${query}`);
    const answer = await request('GET', `/api/v1/layers/a/clients/EPSG:4326?${query}`);
    const { clients } = JSON.parse(answer.text) as { clients: { id: string; text: string }[] };
    const texts = new Map(clients.map(({ id, text }) => [id, text]));
    expect(texts.get('xyz')).toBe('http://localhost/tiles/a/EPSG%3A4326/{z}/{x}/{y}.png?STYLES=dark');
    expect(texts.get('gdal')).toContain('tilematrixset=EPSG:4326,style=dark');
    expect(texts.has('leaflet')).toBe(false);
    for (const text of texts.values()) expect(decodeXml(page.text)).toContain(text);
    expect((await request('GET', '/layers/a?gridSet=nowhere')).status).toBe(400);
  });

  it('the page of a layer offers vector tiles to clients that draw them', async () => {
    const formats = [format('application/vnd.mapbox-vector-tile')] as const;
    const { snippets, text } = await openPage(layerNamed('v', { formats }));
    expect([...snippets.keys()]).toEqual(['xyz', 'maplibre', 'tilejson', 'ogc-api', 'tms', 'curl']);
    expect(text).not.toContain('<img');
  });

  it.each([
    `"><script>alert(1)</script>`,
    `'); alert(1); ('`,
    `</pre><img src=x onerror=alert(1)>`,
    ['{x}$', '{alert(1)}`$(id)`'].join(''),
    `\u2028a'b"c&lt;\\`,
  ])('the page of a layer shows the name %s and does nothing with it', async (evil) => {
    const { text, headers, snippets } = await openPage(
      layerNamed(evil, { title: evil, description: evil, attribution: evil }),
    );
    expect(text).not.toMatch(/<script>|<img src=x|onerror=alert\(1\)>/);
    expect(text.match(/<script/g)).toHaveLength(1);
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    // In a pasted snippet the name is only the content of a string.
    const pasted = new Function('L', `${snippets.get('leaflet')}; return map;`);
    const seen: unknown[] = [];
    const map = { fitBounds: () => map };
    const tileLayer = (url: string, options: { attribution: string }) => {
      seen.push(url, options.attribution);
      return { addTo: () => map };
    };
    pasted({ map: () => map, tileLayer });
    expect(seen).toEqual([expect.stringContaining('http://localhost/tiles/'), evil]);
    expect(decodeURIComponent(String(seen[0]))).toBe(`http://localhost/tiles/${evil}/{z}/{x}/{y}.png`);
  });

  it('the page of a closed layer is not shown to strangers', async () => {
    const accounts = await openTestAccounts();
    await accounts.ensureAdministrator(GOOD_PASSWORD);
    const catalog = catalogOf([layerNamed('closed', { access: 'viewer' })]);
    const { request } = createTestApp({
      deps: { catalog },
      access: createAccountAccess(accounts.authenticator),
    });
    expect((await request('GET', '/layers/closed')).status).toBe(401);
    const headers = { authorization: basic('admin', GOOD_PASSWORD) };
    const shown = await request('GET', '/layers/closed', { headers });
    expect([shown.status, shown.headers['cache-control']]).toEqual([200, 'private, no-cache']);
    expect((await request('GET', '/layers/missing')).status).toBe(401);
    expect((await request('GET', '/layers/missing', { headers })).status).toBe(404);
  });
});
