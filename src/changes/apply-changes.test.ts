import { expect, it } from 'vitest';
import { layerNamed } from '../../test/fixtures/http-app.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { TileSelection } from '../removal/tile-selection.ts';
import { createChangeApplier } from './apply-changes.ts';
import { placeOfBounds } from './check-place.ts';

it('other work has a turn of the event loop for every hundred points of changed areas', async () => {
  const layer = layerNamed('roads');
  const marked: TileSelection[] = [];
  const { apply } = createChangeApplier({
    catalog: { layer: () => ({ layer }) as ReturnType<Catalog['layer']>, record: () => null },
    removals: { remove: async () => [] },
    renew: async (_, selection) => void marked.push(selection),
  });
  const far = (i: number) => ({ x: -150 + (i % 4) * 90, y: -60 + Math.floor(i / 4) * 40 });
  const changes = Array.from({ length: 64 }, (_, i) => {
    const { x, y } = far(i % 16);
    const [minX, minY] = [x + i / 100, y + i / 100];
    return { layers: null, place: placeOfBounds({ minX, minY, maxX: minX + 0.01, maxY: minY + 0.01 }, 4326) };
  });
  let turns = 0;
  const counting = () => {
    turns++;
    counter = setImmediate(counting);
  };
  let counter = setImmediate(counting);
  await apply({ name: 'edits', layers: [layer.name], action: 'renew', buffer: 16 }, changes);
  clearImmediate(counter);
  const polygons = marked.reduce((sum, { area }) => sum + (area?.polygons.length ?? 0), 0);
  expect(polygons).toBe(2 * changes.length);
  const converted = marked.filter(({ gridSets }) => gridSets?.includes('EPSG:900913'));
  const points = converted.flatMap(({ area }) => area?.polygons.flat(2) ?? []).length;
  expect(points).toBeGreaterThanOrEqual(4 * changes.length);
  expect(turns).toBeGreaterThanOrEqual(points / 100);
});
