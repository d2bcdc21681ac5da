import fc from 'fast-check';
import { expect, it } from 'vitest';
import { catalogOf, layerNamed } from '../../../test/fixtures/http-app.ts';
import { createGridSet, levelOf } from '../../domain/grid-set.ts';
import { createGridSubset } from '../../domain/grid-subset.ts';
import { createParameterFilter } from '../../domain/parameter-filter.ts';
import { keysOfTile, layerKey, pageKey } from '../../domain/surrogate-keys.ts';
import { keysIn, PurgeKeys } from './purge-keys.ts';

const rect = { minX: 0, minY: 0, maxX: 17, maxY: 3 };
const outdated = (layer: string, at = rect, z = 8) =>
  ({
    type: 'outdated',
    layer,
    places: [{ gridSet: 'EPSG:900913', z, rect: at }],
    above: null,
    at: 0,
  }) as const;

function purged(layers: ReturnType<typeof layerNamed>[], events: Parameters<PurgeKeys['addEvent']>[0][]) {
  const keys = new PurgeKeys();
  const catalog = catalogOf(layers);
  for (const event of events) keys.addEvent(event, catalog);
  return keysIn(keys.take());
}

it('an area that changes is purged by the pages of every format and every value of its parameters', () => {
  const styles = createParameterFilter({ name: 'STYLES', defaultValue: 'a', values: ['a', 'b'] });
  const roads = { ...layerNamed('roads'), parameters: [styles] };
  const keys = purged([roads], [outdated('roads')]);
  expect(keys).toHaveLength(2 * 2 * roads.formats.length);
  const { mediaType: format } = roads.formats[0];
  expect(keys).toContain(
    pageKey({ layer: 'roads', gridSet: 'EPSG:900913', format, parametersId: null }, 8, 1, 0),
  );
});

it('a layer is purged as a whole when its parameters cannot be listed or more than 1,000 keys would be needed', () => {
  const open = { ...layerNamed('open'), parameters: [createParameterFilter({ name: 'TIME', regex: '.*' })] };
  const wide = { ...rect, maxX: 16 * 1001 };
  const keys = purged([open, layerNamed('wide')], [outdated('open', rect, 5), outdated('wide', wide)]);
  expect(keys).toEqual([layerKey('open'), layerKey('wide')]);
});

const world = createGridSet({
  name: 'EPSG:900913',
  srs: 3857,
  extent: { minX: -20037508.34, minY: -20037508.34, maxX: 20037508.34, maxY: 20037508.34 },
  levels: 31,
});
/** Not halving, and aligned to its bottom. */
const national = createGridSet({
  name: 'national',
  srs: 25832,
  extent: { minX: 200_000, minY: 5_000_000, maxX: 1_000_000, maxY: 6_000_000 },
  resolutions: Array.from({ length: 20 }, (_, z) => 4000 / 1.7 ** z),
  alignTopLeft: false,
});

it.each([
  { gridSet: world, name: 'web mercator', size: 4_000 },
  { gridSet: world, name: 'web mercator', size: 1_200_000 },
  { gridSet: national, name: 'a national grid', size: 3_000 },
])(
  'an area of $size m at all zooms of $name is purged by few keys, which every tile in it has and few others',
  ({ gridSet, size }) => {
    const layer = layerNamed('roads', { gridSubsets: [createGridSubset(gridSet)] });
    const centre = (gridSet.extent.minX + gridSet.extent.maxX) / 2 + 0.31 * size;
    const middle = (gridSet.extent.minY + gridSet.extent.maxY) / 2 + 0.77 * size;
    const tileAt = (z: number, dx: number, dy: number) => {
      const { tileSpanX, tileSpanY, top } = levelOf(gridSet, z);
      const x = Math.floor((centre + dx * size - gridSet.extent.minX) / tileSpanX);
      return { z, x, y: Math.floor((top - middle - dy * size) / tileSpanY) };
    };
    const zooms = gridSet.levels.map((_, z) => z);
    const places = zooms.map((z) => {
      const [first, last] = [tileAt(z, 0, 1), tileAt(z, 1, 0)];
      return { gridSet: gridSet.name, z, rect: { minX: first.x, minY: first.y, maxX: last.x, maxY: last.y } };
    });
    const keys = new Set(purged([layer], [{ type: 'outdated', layer: 'roads', places, at: 0 }]));
    expect(keys.has(layerKey('roads'))).toBe(false);
    expect(keys.size).toBeLessThan(600);
    const names = { layer: 'roads', gridSet: gridSet.name, parametersId: null };
    const isPurged = (z: number, dx: number, dy: number) =>
      layer.formats.every(({ mediaType: format }) =>
        keysOfTile({ ...names, format }, gridSet, tileAt(z, dx, dy)).some((key) => keys.has(key)),
      );
    const inside = fc.tuple(
      fc.constantFrom(...zooms),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    );
    fc.assert(fc.property(inside, ([z, dx, dy]) => isPurged(z, dx, dy)));
    const deep = zooms.filter((z) => z > 12);
    expect(deep.filter((z) => isPurged(z, -3, -3))).toEqual([]);
  },
);

it('many small changes of one layer become its one key, and of many layers one key each', () => {
  const layers = Array.from({ length: 30 }, (_, index) => layerNamed(`layer${index}`));
  const events = layers.flatMap(({ name }) =>
    Array.from({ length: 900 }, (_, page) =>
      outdated(name, { minX: page * 16, maxX: page * 16, minY: 0, maxY: 0 }),
    ),
  );
  expect(
    purged([layerNamed('layer0')], [...events.slice(0, 900), ...events.slice(0, 900)]).length,
  ).toBeLessThan(1001);
  expect(purged(layers, events).length).toBeLessThan(20_001);
});

it('tiles that a quota evicts are not purged', () => {
  const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
  expect(purged([], [{ type: 'deleted', set, z: 8, rect, evicted: true, at: 0 }])).toEqual([]);
});

it('keys have no space or comma, whatever the layer is called', () => {
  expect(layerKey('topp:states')).toBe('layer-topp:states');
  expect(layerKey('a, b')).toMatch(/^layer-[\w-]{16}$/);
});
