import { describe, expect, it } from 'vitest';
import { builtInGridSets } from './built-in-grid-sets.ts';
import { boundsOfTile, createGridSet } from './grid-set.ts';
import { coverageAt, createGridSubset, retinaSubset } from './grid-subset.ts';

const extent = { minX: 0, minY: 0, maxX: 1000, maxY: 700 };

describe('a grid set for dense screens', () => {
  it.each(builtInGridSets().map((gridSet) => [gridSet.name, gridSet] as const))(
    'a grid set for dense screens has the tiles of %s in their places, with twice the pixels',
    (name, gridSet) => {
      const plain = createGridSubset(gridSet, { zoomStart: 1 });
      const dense = retinaSubset(plain);
      expect(dense.gridSet).toMatchObject({
        name: `${name}@2x`,
        tileWidth: gridSet.tileWidth * 2,
        tileHeight: gridSet.tileHeight * 2,
        pixelRatio: 2,
      });
      expect(boundsOfTile(dense.gridSet, 3, 1, 2)).toEqual(boundsOfTile(gridSet, 3, 1, 2));
      expect(coverageAt(dense, 3)).toEqual(coverageAt(plain, 3));
      const [level, half] = [gridSet.levels[3], dense.gridSet.levels[3]];
      expect((half?.resolution ?? 0) * dense.gridSet.tileWidth).toBe(level?.tileSpanX);
      expect(half?.scaleDenominator).toBe((level?.scaleDenominator ?? 0) / 2);
    },
  );

  it('a grid set for dense screens is the same one for every layer', () => {
    const gridSet = createGridSet({ name: 'small', srs: 3857, extent, levels: 3 });
    const [a, b] = [createGridSubset(gridSet), createGridSubset(gridSet, { zoomStop: 1 })].map(retinaSubset);
    expect(a?.gridSet).toBe(b?.gridSet);
  });

  it('a grid set for dense screens is refused where its tiles would be too large', () => {
    const gridSet = createGridSet({
      name: 'large',
      srs: 3857,
      extent,
      levels: 3,
      tileWidth: 4096,
      tileHeight: 16,
    });
    expect(() => retinaSubset(createGridSubset(gridSet))).toThrow(
      /large has tiles of 4096×16 .* 2048 at most/,
    );
  });

  it('a grid set for dense screens has a name that no declared one can have', () => {
    expect(() => createGridSet({ name: 'a@2x', srs: 3857, extent, levels: 3 })).toThrow(
      /does not end in @2x/,
    );
  });
});
