import { expect, it } from 'vitest';
import { boundsOf } from './bounds.ts';
import { builtInGridSets } from './built-in-grid-sets.ts';
import { outlineOf, tileEdgesOf } from './grid-lines.ts';
import { createGridSet } from './grid-set.ts';
import { proposeGridSets } from './grid-set-proposals.ts';

const [adv] = proposeGridSets({ srs: 25832, projection: null, extent: null, isTaken: () => false });
const german = createGridSet(adv?.options as never);

it('the outline of a national grid is one closed line around the country', () => {
  const [line = [], ...others] = outlineOf(german) ?? [];
  expect(others).toEqual([]);
  expect(line[0]?.map(Math.round)).toEqual(line.at(-1)?.map(Math.round));
  const longitudes = line.map(([longitude]) => longitude);
  expect(Math.min(...longitudes)).toBeGreaterThan(-1);
  expect(Math.max(...longitudes)).toBeLessThan(21);
});

it('tile edges are one line more than there are columns and rows', () => {
  expect(tileEdgesOf(german, 2, null)).toHaveLength(10);
  expect(tileEdgesOf(german, 12, null)).toBeNull();
  const town = boundsOf([560000, 5930000, 565000, 5935000]);
  expect(tileEdgesOf(german, 12, town)?.length).toBeGreaterThan(20);
});

it('lines are interrupted at the antimeridian, and absent for an unknown CRS', () => {
  const polar = builtInGridSets().find(({ name }) => name === 'UPSArcticWGS84Quad');
  for (const line of (polar && tileEdgesOf(polar, 1, null)) ?? [])
    for (const [index, [longitude]] of line.entries())
      expect(Math.abs(longitude - (line[index - 1]?.[0] ?? longitude))).toBeLessThanOrEqual(180);
  const unknown = createGridSet({ name: 'x', srs: 99999, extent: boundsOf([0, 0, 1, 1]), levels: 2 });
  expect(outlineOf(unknown)).toBeNull();
  expect(tileEdgesOf(unknown, 0, null)).toBeNull();
});
