import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, format, layerNamed, subset } from '../../../test/fixtures/http-app.ts';
import { retinaSubset } from '../../domain/grid-subset.ts';

describe('TileJSON', () => {
  it('TileJSON describes a layer under the address the caller used', async () => {
    const catalog = catalogOf([layerNamed('a/b.json')]);
    const { request } = createTestApp({ deps: { catalog } });
    const answer = await request('GET', '/geowebcache/tiles/a%2Fb.json.json?styles=dark&x=1');
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
    });
    expect(JSON.parse(answer.text)).toEqual({
      tilejson: '3.0.0',
      name: 'Title of a/b.json',
      scheme: 'xyz',
      tiles: ['http://localhost/geowebcache/tiles/a%2Fb.json/{z}/{x}/{y}.png?STYLES=dark'],
      minzoom: 0,
      maxzoom: 12,
      bounds: [-180, -85.05112878, 180, 85.05112878].map((degrees) => expect.closeTo(degrees, 5)),
      center: [0, 0, 0],
    });
  });

  it('TileJSON has the attribution, and tiles for dense screens if there are some', async () => {
    const gridSubsets = [subset('EPSG:900913', 3)] as const;
    const layer = layerNamed('a', {
      attribution: '© the provider',
      description: 'What it shows',
      gridSubsets,
      retinaSubsets: gridSubsets.map(retinaSubset),
    });
    const { request } = createTestApp({ deps: { catalog: catalogOf([layer]) } });
    expect(JSON.parse((await request('GET', '/tiles/a.json?STYLES=dark')).text)).toMatchObject({
      attribution: '© the provider',
      description: 'What it shows',
      tiles: ['http://localhost/tiles/a/{z}/{x}/{y}.png?STYLES=dark'],
      tiles2x: ['http://localhost/tiles/a/{z}/{x}/{y}@2x.png?STYLES=dark'],
    });
  });

  it.each([
    ['/service/wmts/rest/world/tilejson/jpeg?format=application/json', '.jpeg'],
    ['/service/wmts/rest/world//tilejson/jpeg?format=application/json', '.jpeg'],
    ['/service/wmts?SERVICE=WMTS&REQUEST=gettilejson&LAYER=world&STYLE=dark', '.png?STYLES=dark'],
    ['/service/wmts/rest/world/dark/tilejson/png?format=application/json', '.png?STYLES=dark'],
  ])('TileJSON is found where GeoWebCache has it: %s', async (address, ending) => {
    const { tiles } = JSON.parse((await createTestApp().request('GET', address)).text);
    expect(tiles).toEqual([`http://localhost/tiles/world/{z}/{x}/{y}${ending}`]);
  });

  it('TileJSON lists the layers inside vector tiles as unknown', async () => {
    const formats = [format('application/vnd.mapbox-vector-tile')] as const;
    const { request } = createTestApp({ deps: { catalog: catalogOf([layerNamed('v', { formats })]) } });
    expect(JSON.parse((await request('GET', '/tiles/v.json')).text)).toMatchObject({ vector_layers: [] });
  });

  it('TileJSON is absent for an unknown layer or one without web mercator', async () => {
    const gridSubsets = [subset('EPSG:4326', 3)] as const;
    const { request } = createTestApp({ deps: { catalog: catalogOf([layerNamed('deg', { gridSubsets })]) } });
    expect((await request('GET', '/tiles/mars.json')).status).toBe(404);
    expect((await request('GET', '/tiles/deg.json')).status).toBe(400);
  });
});

describe('the list of layers', () => {
  it('the list of layers is answered briefly, or of one layer alone', async () => {
    const layers = ['a', 'b'].map((name) => layerNamed(name));
    const { request } = createTestApp({ deps: { catalog: catalogOf(layers) } });
    const listed = async (query: string) =>
      JSON.parse((await request('GET', `/tiles.json${query}`)).text).layers;
    const formats = ['image/png', 'image/jpeg'];
    expect(await listed('?brief=true')).toEqual([
      { name: 'a', title: 'Title of a', formats },
      { name: 'b', title: 'Title of b', formats },
    ]);
    expect(await listed('?layer=b')).toEqual([(await listed(''))[1]]);
    expect((await request('GET', '/tiles.json?layer=c')).status).toBe(404);
  });

  it('the list of layers has what a map needs to show each of them', async () => {
    const gridSubsets = [subset('EPSG:4326', 2)] as const;
    const { request } = createTestApp({ deps: { catalog: catalogOf([layerNamed('deg', { gridSubsets })]) } });
    const { layers } = JSON.parse((await request('GET', '/tiles.json')).text);
    expect(layers).toHaveLength(1);
    expect(layers[0]).toMatchObject({
      name: 'deg',
      title: 'Title of deg',
      formats: ['image/png', 'image/jpeg'],
      extensions: ['png', 'jpeg'],
      parameters: [{ name: 'STYLES', default: 'light', values: ['light', 'dark'] }],
      gridSets: [
        {
          name: 'EPSG:4326',
          srs: 'EPSG:4326',
          extent: [-180, -90, 180, 90],
          zoomStart: 0,
          zoomStop: 2,
          tileSize: [256, 256],
        },
      ],
    });
    const [gridSet] = layers[0].gridSets;
    expect(gridSet.resolutions[0]).toBe(0.703125);
    expect(gridSet.origins[0]).toEqual([-180, 90]);
    expect(gridSet.origins).toHaveLength(gridSet.resolutions.length);
  });
});
