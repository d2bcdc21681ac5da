import { expect, it } from 'vitest';
import { catalogOf, layerNamed } from '../../../test/fixtures/http-app.ts';
import { createParameterFilter } from '../../domain/parameter-filter.ts';
import { layerKey, pageKey } from '../../domain/surrogate-keys.ts';
import { keysIn, PurgeKeys } from './purge-keys.ts';

const rect = { minX: 0, minY: 0, maxX: 17, maxY: 3 };
const outdated = (layer: string, at = rect) =>
  ({
    type: 'outdated',
    layer,
    places: [{ gridSet: 'EPSG:900913', z: 8, rect: at }],
    above: null,
    at: 0,
  }) as const;

function purged(layers: ReturnType<typeof layerNamed>[], events: Parameters<PurgeKeys['hear']>[0][]) {
  const keys = new PurgeKeys();
  const catalog = catalogOf(layers);
  for (const event of events) keys.hear(event, catalog);
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
  const keys = purged([open, layerNamed('wide')], [outdated('open'), outdated('wide', wide)]);
  expect(keys).toEqual([layerKey('open'), layerKey('wide')]);
});

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
  const deleted = { type: 'deleted', set, z: 8, rect, at: 0 } as const;
  expect(purged([], [{ ...deleted, evicted: true }])).toEqual([]);
  expect(purged([], [deleted])).toHaveLength(2);
});

it('keys have no space or comma, whatever the layer is called', () => {
  expect(layerKey('topp:states')).toBe('layer-topp:states');
  expect(layerKey('a, b')).toMatch(/^layer-[\w-]{16}$/);
});
