import { resolve } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { importMapProxy } from './import-mapproxy.ts';

interface Given {
  /** Of the layer's one cache. */
  readonly cache?: string;
  readonly source?: string;
  readonly files?: Readonly<Record<string, string>>;
}

const WMS = "type: wms, req: { url: 'http://maps.example.org/wms', layers: a }";

/** The layer `a` with the cache `c` and the source `s`. */
function read({ cache = '', source = WMS, files = {} }: Given) {
  const yaml = `
layers: [{ name: a, title: A, sources: [c] }]
caches: { c: { sources: [s]${cache && `, ${cache}`} } }
sources: { s: { ${source} } }`;
  const imported = importMapProxy(load(yaml), {
    folder: '/mp',
    resolve,
    isThere: () => true,
    readText: (path) => files[path] ?? null,
  });
  expect(checkImported(imported).refused).toEqual([]);
  const [only] = imported.layers;
  const reported = imported.report.entries.map(
    ({ fate, subject, element, what }) => `${fate}: ${element} of ${subject}${what && `: ${what}`}`,
  );
  return { ...imported, layer: only, reported };
}

describe('coverages of mapproxy.yaml', () => {
  it.each([
    ["bbox: [5, 50, 10, 55], srs: 'EPSG:4326'", [556597.45, 6446275.84, 1113194.91, 7361866.11]],
    ["bbox: '5,50,10,55', bbox_srs: 'EPSG:4326'", [556597.45, 6446275.84, 1113194.91, 7361866.11]],
    ["datasource: [5, 50, 10, 55], srs: 'EPSG:4326'", [556597.45, 6446275.84, 1113194.91, 7361866.11]],
    ["bbox: [0, 0, 1000, 2000], srs: 'EPSG:3857'", [0, 0, 1000, 2000]],
    ["datasource: a.wkt, srs: 'EPSG:3857'", [10, -40, 30, 50]],
    ["polygons: a.wkt, polygons_srs: 'EPSG:3857'", [10, -40, 30, 50]],
    ["datasource: a.geojson, srs: 'EPSG:3857'", [1, 2, 5, 8]],
    ["datasource: mark.geojson, srs: 'EPSG:3857'", [1, 2, 5, 8]],
    [
      "union: [{ bbox: [0, 0, 5, 5], srs: 'EPSG:3857' }, { bbox: [3, 3, 9, 9], srs: 'EPSG:3857' }]",
      [0, 0, 9, 9],
    ],
  ])('MapProxy sources with the coverage %s have it as extent, and are clipped to it', (coverage, extent) => {
    const geojson =
      '{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[1,2],[5,8],[3,4],[1,2]]]}}';
    const files = {
      'a.wkt': 'POLYGON((10 20, 30 -40, 25 50, 10 20))\nPOLYGON((11 20, 12 21, 13 20, 11 20))',
      'a.geojson': geojson,
      'mark.geojson': `\u{feff}${geojson}`,
    };
    const { areas, layer, reported } = read({
      cache: 'grids: [GLOBAL_WEBMERCATOR]',
      source: `${WMS}, coverage: { ${coverage} }`,
      files,
    });
    expect(layer?.source).toMatchObject({ type: 'layers', of: [{ source: { type: 'wms' }, within: 's' }] });
    expect(layer?.adopt).toHaveLength(1);
    expect(areas).toMatchObject([{ name: 's' }]);
    const near = extent.map((edge) => expect.closeTo(edge, 2));
    expect(layer?.gridSets).toEqual([{ name: 'EPSG:900913', extent: near, zoomStop: 19 }]);
    expect(reported).toContainEqual(expect.stringMatching(/^(taken|changed): source.coverage of layer a/));
  });

  it('MapProxy coverages are areas with the same shape, one for each shape', () => {
    const wkt = 'POLYGON((10 20, 30 -40, 25 50, 10 20))\n\nPOLYGON((11 20, 12 21, 13 20, 11 20))\n';
    const coverage = (fields: string) =>
      read({ source: `${WMS}, coverage: { ${fields}, srs: 'EPSG:3857' }`, files: { 'a.wkt': wkt } }).areas;
    const first = [
      [
        [10, 20],
        [30, -40],
        [25, 50],
        [10, 20],
      ],
    ];
    const second = [
      [
        [11, 20],
        [12, 21],
        [13, 20],
        [11, 20],
      ],
    ];
    const geojson = { type: 'MultiPolygon', coordinates: [first, second] };
    expect(coverage('datasource: a.wkt, clip: true')).toEqual([{ name: 's', srs: 'EPSG:3857', geojson }]);
    expect(coverage('bbox: [0, 1, 20, 30]')).toEqual([
      { name: 's', srs: 'EPSG:3857', bounds: [0, 1, 20, 30] },
    ]);
    const common =
      "intersection: [{ bbox: [0, 0, 5, 5], srs: 'EPSG:3857' }, { bbox: [3, 3, 9, 9], srs: 'EPSG:3857' }]";
    expect(coverage(common)).toMatchObject([{ bounds: [3, 3, 5, 5] }]);
  });

  it('MapProxy layers that are queryable and have a coverage are clipped themselves, without their old tiles', () => {
    const box = "coverage: { bbox: [5, 50, 10, 55], srs: 'EPSG:4326' }";
    const { layer } = read({ source: `${WMS}, wms_opts: { featureinfo: true }, ${box}` });
    expect(layer).toMatchObject({ within: 's', queryable: true, source: { type: 'wms' } });
    expect(layer).not.toHaveProperty('adopt');
  });

  it('MapProxy caches have a coverage too, whose edge cuts no tiles unless it has clip', () => {
    const cache = (more: string) =>
      `grids: [GLOBAL_WEBMERCATOR], cache: { coverage: { bbox: [0, 0, 1000, 2000], srs: 'EPSG:3857'${more} } }`;
    const gridSets = [{ name: 'EPSG:900913', extent: [0, 0, 1000, 2000], zoomStop: 19 }];
    const whole = read({ cache: cache('') }).layer;
    expect(whole).toMatchObject({ gridSets, adopt: [{}] });
    expect(whole).not.toHaveProperty('within');
    const cut = read({ cache: cache(', clip: true') }).layer;
    expect(cut).toMatchObject({ gridSets, within: 'c' });
    expect(cut).not.toHaveProperty('adopt');
    expect(read({ cache: "cache: { coverage: { datasource: 'PG: x', srs: 'EPSG:3857' } }" }).layers).toEqual(
      [],
    );
  });
});
