import { expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { parseYamlFile } from '../lib/yaml-file.ts';
import { importMapProxy } from './import-mapproxy.ts';

const CONFIGURATION = `
layers:
  - { name: roads, title: Roads, sources: [cache] }
  - { name: both, title: Both, sources: [cache, other] }
caches:
  cache: { grids: [GLOBAL_MERCATOR, GLOBAL_GEODETIC], sources: [wms] }
  other: { grids: [GLOBAL_MERCATOR], sources: [wms] }
sources: { wms: { type: wms, req: { url: 'http://maps.test/wms', layers: a } } }
`;

function read(seeds: string) {
  const yaml = (text: string) => parseYamlFile('x.yaml', text).value;
  const files = { folder: '/', resolve: (_: string, file: string) => file, isThere: () => false };
  const shape = 'POLYGON ((0 0, 10 0, 10 10, 0 0))';
  const readText = (file: string) => (file === 'shape.txt' ? shape : null);
  const imported = importMapProxy(yaml(CONFIGURATION), { ...files, readText }, yaml(seeds));
  expect(checkImported(imported).refused).toEqual([]);
  const schedules = new Map(imported.layers.map(({ name, schedules: list }) => [name, list]));
  const left = imported.report.entries.filter(({ fate }) => fate === 'left out').map(({ what }) => what);
  return { schedules, left };
}

const WHEN = { cron: '@daily', enabled: false };

it('a seed is a disabled schedule of each layer with its caches, in each grid, coverage and range of levels', () => {
  const { schedules } = read(`
coverages: { box: { bbox: [0, 0, 10, 10], srs: 'EPSG:4326' } }
seeds:
  wide: { caches: [cache, other], levels: { to: 5 } }
  narrow: { caches: [cache], grids: [GLOBAL_GEODETIC], coverages: [box], levels: [0, 1, 3], refresh_before: { days: 1 } }
`);
  const geodetic = {
    type: 'reseed',
    gridSet: expect.stringContaining('GEODETIC'),
    bounds: [0, 0, 10, 10],
    ...WHEN,
  };
  expect(schedules.get('roads')).toEqual([
    { name: 'wide', type: 'seed', gridSet: 'EPSG:900913', zoomStop: 5, ...WHEN },
    { name: 'wide 2', type: 'seed', gridSet: geodetic.gridSet, zoomStop: 5, ...WHEN },
    { name: 'narrow', zoomStart: 0, zoomStop: 1, ...geodetic },
    { name: 'narrow 2', zoomStart: 3, zoomStop: 3, ...geodetic },
  ]);
  expect(schedules.get('other')).toEqual([
    { name: 'wide', type: 'seed', gridSet: 'EPSG:900913', zoomStop: 5, ...WHEN },
  ]);
  expect(schedules.get('both'), 'it has no tiles of its own').toBeUndefined();
});

it('a cleanup that would remove more than it says is left out', () => {
  const { schedules, left } = read(`
coverages: { shape: { datasource: shape.txt, srs: 'EPSG:4326' }, shp: { datasource: a.shp, srs: 'EPSG:4326' } }
cleanups:
  all: { caches: [other], levels: [4], remove_all: true }
  old: { caches: [other], remove_before: { days: 30 } }
  shaped: { caches: [other], remove_all: true, coverages: [shape] }
seeds:
  shaped: { caches: [other], coverages: [shape] }
  unread: { caches: [other], coverages: [shp] }
  nowhere: { caches: [gone] }
`);
  expect(schedules.get('other')).toEqual([
    { name: 'shaped', type: 'seed', gridSet: 'EPSG:900913', bounds: expect.any(Array), ...WHEN },
    { name: 'all', type: 'truncate', gridSet: 'EPSG:900913', zoomStart: 4, zoomStop: 4, ...WHEN },
  ]);
  expect(left).toEqual(
    expect.arrayContaining([
      expect.stringContaining('a schedule removes tiles of any age'),
      expect.stringContaining('its coverage is not a box'),
      expect.stringContaining('its coverage shp is not'),
      expect.stringContaining('no imported layer shows gone'),
    ]),
  );
});
