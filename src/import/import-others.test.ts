import { resolve } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { readXml } from '../lib/xml/read-xml.ts';
import { importMapCache } from './import-mapcache.ts';
import { importMapProxy } from './import-mapproxy.ts';
import type { Imported } from './import-report.ts';

const reported = ({ report }: Imported) =>
  report.entries.map(({ fate, subject, element }) => `${fate}: ${element} of ${subject}`);

describe('mapproxy.yaml', () => {
  const read = (yaml: string, isThere: (path: string) => boolean = () => false) =>
    importMapProxy(load(yaml), { folder: '/mp', resolve, isThere, readText: () => null });

  const WHOLE = `
services: { demo: , wmts: }
layers:
  - name: osm
    title: OSM
    sources: [osm_cache]
  - name: group
    title: Inside
    layers:
      - { name: topo, title: Topo, sources: [topo_cache] }
  - { name: direct, title: Not cached, sources: [osm_wms] }
  - { name: merged, title: Two, sources: [osm_cache, topo_cache] }
caches:
  osm_cache: { grids: [webmercator, GLOBAL_GEODETIC], sources: [osm_wms], meta_size: [2, 3], bulk_meta_tiles: true }
  topo_cache:
    grids: [utm]
    sources: [topo_tiles]
    format: image/jpeg
    cache: { type: file, directory_layout: tms, directory: /data/topo }
sources:
  osm_wms:
    type: wms
    req: { url: 'http://anna:pw@maps.example.org/service?', layers: 'a,b', transparent: true, map: /x.map }
    wms_opts: { version: 1.3.0 }
  topo_tiles: { type: tile, grid: utm, url: 'http://tiles.example.org/%(z)s/%(x)s/%(y)s.jpeg' }
grids:
  webmercator: { base: GLOBAL_WEBMERCATOR, num_levels: 18 }
  utm: { srs: 'EPSG:25832', bbox: [243900, 4427757, 756099, 6655205], origin: nw, res: [100, 1000, 500] }
`;

  it('mapproxy.yaml becomes layers with their grids and sources', () => {
    const imported = read(WHOLE);
    const { layers, gridSets } = imported;
    expect(layers).toEqual([
      {
        name: 'osm',
        title: 'OSM',
        source: {
          type: 'wms',
          url: 'http://maps.example.org/service',
          layers: 'a,b',
          version: '1.3.0',
          transparent: true,
          vendorParameters: { map: '/x.map' },
          username: 'anna',
          password: 'pw',
        },
        formats: ['image/png'],
        gridSets: [{ name: 'EPSG:900913', zoomStop: 17 }, 'GLOBAL_GEODETIC'],
        metatile: [2, 3],
        gutter: 80,
      },
      {
        name: 'topo',
        title: 'Topo',
        source: { type: 'xyz', url: 'http://tiles.example.org/{z}/{x}/{y}.jpeg', gridSets: { utm: {} } },
        formats: ['image/jpeg'],
        gridSets: ['utm'],
        gutter: 80,
      },
      {
        name: 'direct',
        title: 'Not cached',
        source: expect.objectContaining({ layers: 'a,b' }),
        formats: ['image/png'],
        gridSets: [{ name: 'EPSG:900913', zoomStop: 19 }, 'GLOBAL_GEODETIC'],
        expireCache: -1,
      },
      {
        name: 'merged',
        title: 'Two',
        source: { type: 'layers', of: [{ layer: 'osm' }, { layer: 'topo' }] },
        formats: ['image/png'],
        gridSets: [{ name: 'EPSG:900913', zoomStop: 17 }, 'GLOBAL_GEODETIC', 'utm'],
        expireCache: -1,
      },
    ]);
    expect(gridSets).toMatchObject([
      { name: 'GLOBAL_GEODETIC', srs: 4326, extent: [-180, -90, 180, 90] },
      { name: 'utm', srs: 25832, resolutions: [1000, 500, 100], alignTopLeft: true },
    ]);
    expect(gridSets[0]?.resolutions).toEqual(expect.arrayContaining([1.40625, 0.703125]));
    expect(checkImported({ layers, gridSets }).refused).toEqual([]);
    expect(imported.groups).toMatchObject([{ name: 'group' }]);
    expect(reported(imported)).toEqual(
      expect.arrayContaining([
        'changed: services of mapproxy.yaml',
        'changed: sources of layer direct',
        'left out: cache.bulk_meta_tiles of layer osm',
        'left out: cache of layer osm',
      ]),
    );
  });

  it('mapproxy.yaml has the folders of its caches adopted, each with the origin of its grid', () => {
    const [osm, topo] = read(WHOLE, () => true).layers;
    expect(osm?.adopt).toEqual([
      {
        layout: 'mapproxy',
        folder: '/mp/cache_data/osm_cache_EPSG3857',
        gridSet: 'EPSG:900913',
        paths: 'tc',
        origin: 'nw',
      },
      {
        layout: 'mapproxy',
        folder: '/mp/cache_data/osm_cache_EPSG4326',
        gridSet: 'GLOBAL_GEODETIC',
        paths: 'tc',
        origin: 'sw',
      },
    ]);
    expect(topo?.adopt).toEqual([
      { layout: 'mapproxy', folder: '/data/topo', gridSet: 'utm', paths: 'tms', origin: 'nw' },
    ]);
  });

  it('mapproxy.yaml is not another document', () => {
    expect(() => read('a: 1')).toThrow('not a MapProxy configuration');
  });
});

describe('mapcache.xml', () => {
  const read = (inner: string, isThere: (path: string) => boolean = () => false) =>
    importMapCache(readXml(`<mapcache>${inner}</mapcache>`), { isThere });

  const WHOLE = `
    <metadata><title>t</title></metadata>
    <source name="vmap0" type="wms"><getmap><params><FORMAT>image/png</FORMAT><LAYERS>basic</LAYERS><MAP>/a.map</MAP></params></getmap>
      <http><url>http://maps.example.org/wms?</url></http></source>
    <source name="gdal" type="gdal"><data>/x.tif</data></source>
    <cache name="disk" type="disk"><base>/var/mapcache</base><symlink_blank/></cache>
    <format name="photo" type="JPEG"><quality>75</quality></format>
    <grid name="swiss"><srs>EPSG:2056</srs><extent>2420000 1030000 2900000 1350000</extent><resolutions>4000 2000 1000</resolutions><size>256 256</size></grid>
    <tileset name="base"><source>vmap0</source><cache>disk</cache><grid maxzoom="12">WGS84</grid><grid>g</grid><grid>swiss</grid>
      <format>photo</format><metatile>5 5</metatile><metabuffer>10</metabuffer><expires>3600</expires>
      <metadata><title>Base</title></metadata><dimensions/></tileset>
    <tileset name="raster"><source>gdal</source><cache>disk</cache><grid>g</grid></tileset>`;

  it('mapcache.xml becomes layers, and its disk cache is adopted', () => {
    const imported = read(WHOLE, (path) => path === '/var/mapcache/base');
    const { layers, gridSets } = imported;
    expect(layers).toEqual([
      {
        name: 'base',
        title: 'Base',
        source: {
          type: 'wms',
          url: 'http://maps.example.org/wms',
          layers: 'basic',
          requestFormat: 'image/png',
          vendorParameters: { MAP: '/a.map' },
        },
        formats: ['image/jpeg'],
        gridSets: [{ name: 'EPSG:4326', zoomStop: 12 }, { name: 'EPSG:900913' }, { name: 'swiss' }],
        metatile: [5, 5],
        gutter: 10,
        expireClients: 3600,
        adopt: [
          {
            layout: 'mapcache',
            folder: '/var/mapcache',
            gridSet: 'EPSG:4326',
            gridSets: { 'EPSG:4326': 'WGS84' },
            origin: 'sw',
          },
          {
            layout: 'mapcache',
            folder: '/var/mapcache',
            gridSet: 'EPSG:900913',
            gridSets: { 'EPSG:900913': 'g' },
            origin: 'sw',
          },
          { layout: 'mapcache', folder: '/var/mapcache', gridSet: 'swiss', origin: 'sw' },
        ],
      },
    ]);
    expect(gridSets).toEqual([
      {
        name: 'swiss',
        srs: 2056,
        extent: [2420000, 1030000, 2900000, 1350000],
        resolutions: [4000, 2000, 1000],
        tileSize: [256, 256],
      },
    ]);
    expect(checkImported({ layers, gridSets }).refused).toEqual([]);
    expect(reported(imported)).toEqual(
      expect.arrayContaining([
        'left out: metadata of mapcache',
        'left out: all of it of layer raster',
        'left out: dimensions of layer base',
        'changed: cache of layer base',
      ]),
    );
  });
});
