import { resolve } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { importMapProxy } from './import-mapproxy.ts';

const wms = (layers: string, more = '') =>
  `{ type: wms, req: { url: 'http://maps.example.org/wms', layers: ${layers} }${more && `, ${more}`} }`;
const TILES =
  "{ type: tile, grid: GLOBAL_WEBMERCATOR, url: 'http://tiles.example.org/%(z)s/%(x)s/%(y)s.png' }";

function read(yaml: string, files: Readonly<Record<string, string>> = {}) {
  const imported = importMapProxy(load(yaml), {
    folder: '/mp',
    resolve,
    isThere: () => false,
    readText: (path) => files[path] ?? null,
  });
  expect(checkImported(imported).refused).toEqual([]);
  const reasons = imported.report.entries.filter(({ fate }) => fate === 'left out').map(({ what }) => what);
  return { ...imported, reasons: reasons.join('\n') };
}

describe('several sources in mapproxy.yaml', () => {
  it('a MapProxy cache of several sources is a composed layer, with their opacity, colour and scales', () => {
    const { layers } = read(`
layers: [{ name: a, title: A, sources: [c] }]
caches: { c: { grids: [GLOBAL_WEBMERCATOR], sources: [below, above, third] } }
sources:
  below: ${wms('x')}
  above: ${wms('y', 'image: { opacity: 0.5, transparent_color: [255, 0, 16] }')}
  third: ${wms('z', 'min_res: 280, max_res: 2.8')}`);
    const source = (name: string) => expect.objectContaining({ type: 'wms', layers: name });
    expect(layers).toMatchObject([
      {
        name: 'a',
        source: {
          type: 'layers',
          of: [
            { source: source('x') },
            { source: source('y'), opacity: 0.5, transparentColor: '#ff0010', tolerance: 5 },
            { source: source('z'), scales: [expect.closeTo(10_000, 0), expect.closeTo(1_000_000, 0)] },
          ],
        },
        gridSets: [{ name: 'EPSG:900913' }],
      },
    ]);
    expect(layers[0]).not.toHaveProperty('expireCache');
  });

  it('tile_sources of MapProxy that are the same maps in other grids are one layer', () => {
    const { layers, reasons } = read(`
layers: [{ name: a, title: A, tile_sources: [c, twin, other, lost] }]
caches:
  c: { grids: [GLOBAL_WEBMERCATOR], sources: [s] }
  twin: { grids: [GLOBAL_GEODETIC, GLOBAL_WEBMERCATOR], sources: [s] }
  other: { grids: [GLOBAL_GEODETIC], sources: [s], format: image/jpeg }
  lost: { grids: [GLOBAL_GEODETIC], sources: [none] }
sources: { s: ${wms('x')} }`);
    expect(layers).toMatchObject([{ name: 'a', source: { layers: 'x' }, formats: ['image/png'] }]);
    expect(layers[0]).toMatchObject({ gridSets: [{ name: 'EPSG:900913' }, 'GLOBAL_GEODETIC'] });
    expect(reasons).toContain('other is made otherwise than c');
    expect(reasons).toContain('lost cannot be used: its source none is not declared');
  });

  it('a MapProxy WMS without layers, and tiles of one address, are requested as there', () => {
    const { layers } = read(`
layers: [{ name: a, title: A, sources: [s] }, { name: b, title: B, sources: [c] }]
caches: { c: { sources: [t] } }
sources:
  s: { type: wms, req: { url: 'http://maps.example.org/wms' } }
  t: { type: tile, url: 'http://tiles.example.org/one.png' }`);
    expect(layers).toMatchObject([
      { name: 'a', source: { layers: '', vendorParameters: { LAYERS: '' } } },
      { name: 'b', source: { url: 'http://tiles.example.org/one.png#{z}/{x}/{-y}' } },
    ]);
  });

  it('a MapProxy source with a coverage is drawn inside it only, over the others', () => {
    const { areas, layers } = read(`
layers: [{ name: a, title: A, sources: [c] }]
caches: { c: { grids: [GLOBAL_WEBMERCATOR], sources: [s, covered] } }
sources: { s: ${wms('x')}, covered: ${wms('y', "coverage: { bbox: [5, 50, 10, 55], srs: 'EPSG:4326' }")} }`);
    expect(layers).toMatchObject([
      {
        source: { of: [{ source: { layers: 'x' } }, { source: { layers: 'y' }, within: 'covered' }] },
        gridSets: [{ name: 'EPSG:900913', zoomStop: 19 }],
      },
    ]);
    expect(areas).toEqual([{ name: 'covered', srs: 'EPSG:4326', bounds: [5, 50, 10, 55] }]);
  });

  it('a MapProxy layer of caches and sources draws layers of these caches, and is not kept itself', () => {
    const { layers } = read(`
layers: [{ name: a, title: A, sources: [c, d, s] }, { name: b, title: B, sources: [d] }]
caches: { c: { sources: [s] }, d: { sources: [s], format: image/jpeg } }
sources: { s: ${wms('x')} }`);
    expect(layers).toMatchObject([
      {
        name: 'a',
        source: { of: [{ layer: 'c' }, { layer: 'b' }, { source: { layers: 'x' } }] },
        expireCache: -1,
      },
      { name: 'b', formats: [{ type: 'image/jpeg', quality: 90 }] },
      { name: 'c', advertised: false, source: { type: 'wms' } },
    ]);
  });

  it('a MapProxy cache of another cache is drawn from a layer of that cache', () => {
    const { layers } = read(`
layers: [{ name: a, title: A, sources: [out] }]
caches: { out: { grids: [utm], sources: [in] }, in: { grids: [GLOBAL_WEBMERCATOR], sources: [s] } }
sources: { s: ${TILES} }
grids: { utm: { srs: 'EPSG:25832', bbox: [4, 46, 16, 56], bbox_srs: 'EPSG:4326', min_res: 5700 } }`);
    expect(layers).toMatchObject([
      { name: 'a', source: { type: 'layer', layer: 'in' }, gridSets: ['utm'] },
      { name: 'in', advertised: false, source: { type: 'xyz' } },
    ]);
  });

  it('a MapProxy source that knows none of the SRS of its cache is reprojected from a layer in one that it knows', () => {
    const { layers } = read(`
layers: [{ name: a, title: A, sources: [c] }]
caches: { c: { grids: [utm], sources: [s] } }
sources: { s: ${wms('x', "supported_srs: ['EPSG:3857']")} }
grids: { utm: { srs: 'EPSG:25832', bbox: [4, 46, 16, 56], bbox_srs: 'EPSG:4326', min_res: 5700 } }`);
    expect(layers).toMatchObject([
      { name: 'a', source: { type: 'layer', layer: 's source' }, gridSets: ['utm'] },
      { name: 's source', advertised: false, expireCache: -1, gridSets: [{ name: 'EPSG:900913' }] },
    ]);
  });

  it('layers of MapProxy caches and sources have names that no other layer has', () => {
    const { layers } = read(`
layers:
  - { name: a, title: A, sources: [c, t] }
  - { name: c, title: C, sources: [t] }
  - { name: c cache, title: C, sources: [t] }
  - { name: s source, title: S, sources: [u] }
caches: { c: { grids: [GLOBAL_WEBMERCATOR], sources: [t] }, u: { grids: [utm], sources: [s] } }
sources: { s: ${wms('x', "supported_srs: ['EPSG:3857']")}, t: ${wms('x')} }
grids: { utm: { srs: 'EPSG:25832', bbox: [4, 46, 16, 56], bbox_srs: 'EPSG:4326', min_res: 5700 } }`);
    expect(layers.map(({ name }) => name)).toEqual([
      'a',
      'c',
      'c cache',
      's source',
      'c cache 2',
      's source 2',
    ]);
    expect(layers).toMatchObject([
      { source: { of: [{ layer: 'c cache 2' }, {}] } },
      {},
      {},
      { source: { layer: 's source 2' } },
      { advertised: false },
      { advertised: false },
    ]);
  });

  it.each([
    ['image: { transparent_color: white }', 'transparent_color'],
    ['image: { opacity: half }', 'opacity'],
    ['min_res: far', 'min_res'],
  ])('a MapProxy layer whose source has %s is left out', (field, name) => {
    const { layers, reasons } = read(`
layers: [{ name: a, title: A, sources: [s] }]
sources: { s: ${wms('x', field)} }`);
    expect(layers).toEqual([]);
    expect(reasons).toContain(`its source s has a value of ${name} that cannot be read`);
  });

  it('sources of a MapProxy layer that get different parameters are layers that have only these', () => {
    const { layers } = read(`
layers: [{ name: a, title: A, sources: [s, timed] }]
sources: { s: ${wms('x')}, timed: ${wms('y', 'forward_req_params: [time]')} }`);
    const parameters = [{ name: 'TIME', regex: '.*' }];
    expect(layers).toMatchObject([
      { name: 'a', source: { of: [{ layer: 's source' }, { layer: 'timed source' }] }, parameters },
      { name: 's source', advertised: false, source: { layers: 'x' }, expireCache: -1 },
      { name: 'timed source', advertised: false, source: { layers: 'y' }, expireCache: -1, parameters },
    ]);
    expect(layers[1]).not.toHaveProperty('parameters');
  });

  it.each([
    ['{ name: a, title: A, sources: [round] }', 'its cache round is drawn from itself'],
    ['{ name: a, title: A, sources: [mixed] }', 'get different parameters'],
    ['{ name: a, title: A, sources: [s, seeded] }', 'only some of its sources are for seeding'],
  ])('the MapProxy layer %s is left out', (layer, why) => {
    const { layers, reasons } = read(`
layers: [${layer}]
caches: { c: { sources: [s] }, round: { sources: [round, s] }, mixed: { sources: [s, timed] } }
sources:
  s: ${wms('x')}
  timed: ${wms('x', 'forward_req_params: [time]')}
  seeded: ${wms('x', 'seed_only: true')}`);
    expect(layers.map(({ name }) => name)).not.toContain('a');
    expect(reasons).toContain(why);
  });

  it('MapProxy layers that WMS shows between scales are shown between these', () => {
    const { layers, reasons } = read(`
layers:
  - { name: a, title: A, sources: [c], min_res: 280 }
  - { name: b, title: B, sources: [s], max_scale: 10000 }
  - { name: between, title: None, sources: [c], min_scale: 2000, max_scale: 2001 }
caches: { c: { sources: [s] } }
sources: { s: ${wms('x', 'min_scale: 500')} }`);
    expect(layers).toMatchObject([
      { name: 'a', source: { of: [{ source: { type: 'wms' } }] }, maxScale: expect.closeTo(1_000_000, 0) },
      { name: 'b', source: { of: [{ source: { type: 'wms' } }] }, maxScale: 10000 },
    ]);
    expect(reasons).toContain('its resolutions or scales are those of no zoom');
  });

  it("layers are shown in the SRS of MapProxy's WMS", () => {
    const crsOf = (services: string) =>
      read(`
services: { ${services} }
layers: [{ name: a, title: A, sources: [c] }]
caches: { c: { sources: [s] } }
sources: { s: ${wms('x')} }`).layers[0]?.wmsCrs;
    expect(crsOf('wms: {}')).toEqual(['EPSG:4326', 'EPSG:4258']);
    expect(crsOf("wms: { srs: ['EPSG:3857', 'EPSG:900913', 'EPSG:25832', 'EPSG:1234'] }")).toEqual([
      'EPSG:25832',
    ]);
    expect(crsOf('wmts: {}')).toBeUndefined();
  });

  it('MapProxy sources that draw no maps are not part of a picture', () => {
    const { layers, reasons } = read(`
layers: [{ name: a, title: A, sources: [c, info] }]
caches: { c: { sources: [s] } }
sources: { s: ${wms('x')}, info: ${wms('y', 'wms_opts: { map: false, featureinfo: true }')} }`);
    expect(layers).toMatchObject([{ name: 'a', source: { type: 'wms', layers: 'x' } }]);
    expect(reasons).toContain('info draws no maps');
  });

  it('parameters that a MapProxy layer without a cache passes on may have any value', () => {
    const { layers } = read(`
layers: [{ name: a, title: A, sources: [s] }]
sources: { s: ${wms('x', 'forward_req_params: [time]')} }`);
    expect(layers).toMatchObject([{ parameters: [{ name: 'TIME', regex: '.*' }], expireCache: -1 }]);
  });

  it('MapProxy sources with a style and no layers have it as SLD_BODY where it is in a file', () => {
    const yaml = (sld: string) => `
layers: [{ name: a, title: A, sources: [s] }]
sources: { s: { type: wms, req: { url: 'http://maps.example.org/wms', sld: '${sld}' } } }`;
    expect(read(yaml('http://example.org/a.sld')).layers).toMatchObject([
      { source: { layers: '', vendorParameters: { sld: 'http://example.org/a.sld' } } },
    ]);
    expect(read(yaml('file://a.sld'), { 'a.sld': '<sld/>' }).layers).toMatchObject([
      { source: { layers: '', vendorParameters: { sld_body: '<sld/>' } } },
    ]);
    expect(read(yaml('file://b.sld')).layers).toEqual([]);
  });
});

describe('sources of mapproxy.yaml that are never asked', () => {
  it('a MapProxy cache without sources shows its old tiles and nothing else', () => {
    const { layers } = read(`
layers: [{ name: a, title: A, sources: [c] }, { name: b, title: B, sources: [c, s] }]
caches: { c: { grids: [GLOBAL_WEBMERCATOR], sources: [], cache: { type: mbtiles, filename: old.mbtiles } } }
sources: { s: ${wms('x')} }`);
    expect(layers).toMatchObject([
      { name: 'a', source: { type: 'layers', of: [] } },
      { name: 'b', source: { of: [{ layer: 'a' }, { source: { layers: 'x' } }] } },
    ]);
  });

  it('a MapProxy source whose coverage is in none of the grids shows nothing, and others beside it are drawn', () => {
    const nowhere = "coverage: { bbox: [179, 89, 180, 89.9], srs: 'EPSG:4326' }";
    const { layers } = read(`
layers: [{ name: a, title: A, sources: [c] }, { name: b, title: B, sources: [d] }]
caches: { c: { grids: [GLOBAL_MERCATOR], sources: [n] }, d: { grids: [GLOBAL_MERCATOR], sources: [n, s] } }
sources: { n: ${wms('x', nowhere)}, s: ${wms('y')} }`);
    expect(layers).toMatchObject([
      { source: { type: 'layers', of: [] } },
      { source: { type: 'wms', layers: 'y' } },
    ]);
  });
});

it('a MapProxy source of tiles from an OGC API keeps its collection and tile matrix set', () => {
  const { layers } = read(`
layers: [{ name: a, title: A, sources: [c] }]
caches: { c: { grids: [GLOBAL_WEBMERCATOR], sources: [s] } }
sources: { s: { type: ogcapitiles, landingpage_url: 'http://maps.example.org/ogc', collection: x, tile_matrix_set_id: y } }`);
  const url = 'http://maps.example.org/ogc';
  expect(layers).toMatchObject([
    { source: { type: 'ogcapi-tiles', url, collection: 'x', tileMatrixSet: 'y' } },
  ]);
});

it.each([
  [
    'bands',
    'sources: { r: [{ source: s, band: 0 }], g: [{ source: s, band: 1 }] }',
    'merges bands of its sources: let',
  ],
  ['OGC API Maps', 'sources: [m]', 'is of type ogcapimaps; .*: publish its maps as WMS'],
  ['OGC API Maps among others', 'sources: [s, m]', 'is of type ogcapimaps'],
])('a MapProxy cache of %s is left out, and the report says what to do', (_, sources, why) => {
  const { layers, reasons } = read(`
layers: [{ name: a, title: A, sources: [c] }, { name: b, title: B, sources: [s] }]
caches: { c: { grids: [GLOBAL_WEBMERCATOR], ${sources} } }
sources: { s: ${wms('x')}, m: { type: ogcapimaps, landingpage_url: 'http://maps.example.org/ogc', collection: x } }`);
  expect(layers.map(({ name }) => name)).toEqual(['b']);
  expect(reasons).toMatch(new RegExp(why));
});
