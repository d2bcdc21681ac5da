import { expect, it } from 'vitest';
import { builtInGridSets } from './built-in-grid-sets.ts';
import { createGridSubset, isBeyondCircle } from './grid-subset.ts';

const mercator = builtInGridSets().find(({ name }) => name === 'EPSG:900913');

it('a circular extent leaves the corners out and the middle in, as GeoWebCache counts', () => {
  if (!mercator) throw new Error('no grid set');
  const subset = createGridSubset(mercator);
  const beyond = (z: number, x: number, y: number) => isBeyondCircle(subset, { z, x, y });
  expect([0, 1].map((z) => beyond(z, 0, 0))).toEqual([false, false]);
  // 16 × 16 tiles: the middle is column 7, and row 7 from the bottom, which is row 8 from the top; the radius is 4.
  expect(beyond(4, 7, 8)).toBe(false);
  expect(beyond(4, 11, 8)).toBe(false);
  expect(beyond(4, 12, 8)).toBe(true);
  expect(beyond(4, 7, 12)).toBe(false);
  expect(beyond(4, 7, 3)).toBe(true);
  expect(beyond(4, 0, 0)).toBe(true);
});
