import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tilesIn } from '../../test/contracts/tile-store-tools.ts';
import { until } from '../../test/fixtures/eventually.ts';
import { openPipelineHarness, TILE_SIZE } from '../../test/fixtures/pipeline-harness.ts';
import { createGridSet } from '../domain/grid-set.ts';
import { createGridSubset } from '../domain/grid-subset.ts';

const worldExtent = {
  minX: -20037508.342789244,
  minY: -20037508.342789244,
  maxX: 20037508.342789244,
  maxY: 20037508.342789244,
};

describe('every tile of a metatile', () => {
  it('every tile of a metatile has its own pixels, whatever the metatile, gutter, zoom and extent', async () => {
    const gridSet = createGridSet({
      name: 'small-tiles',
      srs: 3857,
      extent: worldExtent,
      levels: 8,
      tileWidth: TILE_SIZE,
      tileHeight: TILE_SIZE,
    });
    const fraction = fc.double({ min: -1, max: 0.9, noNaN: true });
    const scene = fc.record({
      metatile: fc.record({ columns: fc.integer({ min: 1, max: 5 }), rows: fc.integer({ min: 1, max: 5 }) }),
      gutter: fc.constantFrom(0, 1, 7, 32),
      z: fc.integer({ min: 0, max: 7 }),
      corner: fc.tuple(fraction, fraction),
      pick: fc.tuple(
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
      ),
    });
    await fc.assert(
      fc.asyncProperty(scene, async ({ metatile, gutter, z, corner, pick }) => {
        const [left, bottom] = corner.map((share) => share * worldExtent.maxX) as [number, number];
        const subset = createGridSubset(gridSet, { extent: { ...worldExtent, minX: left, minY: bottom } });
        const harness = openPipelineHarness({ layer: { metatile, gutter, gridSubsets: [subset] } });
        const side = 2 ** z;
        const firstColumn = Math.floor(((left / worldExtent.maxX + 1) / 2) * side);
        const lastRow = Math.ceil((1 - (bottom / worldExtent.maxX + 1) / 2) * side) - 1;
        const x = Math.min(side - 1, firstColumn + 1 + Math.floor(pick[0] * (side - firstColumn)));
        const y = Math.floor(pick[1] * lastRow);
        const answer = await harness.read(z, x, y);
        expect(await harness.shows(answer.bytes, { z, x, y })).toBe(true);
        await until(() => harness.pipeline.status().flights === 0);
        let stored = 0;
        for await (const entry of tilesIn(harness.store, harness.tiles.set, z)) {
          const found = await harness.store.get(harness.tiles.set, entry);
          expect(found && (await harness.shows(found.bytes, entry))).toBe(true);
          stored++;
        }
        for (const { bounds } of harness.source.requests) {
          expect(Math.min(bounds.minX, bounds.minY)).toBeGreaterThanOrEqual(worldExtent.minX - 1e-6);
          expect(Math.max(bounds.maxX, bounds.maxY)).toBeLessThanOrEqual(worldExtent.maxX + 1e-6);
        }
        const rect = harness.source.requests[0]?.metatile.rect ?? { minX: 0, minY: 0, maxX: -1, maxY: -1 };
        expect(stored).toBe((rect.maxX - rect.minX + 1) * (rect.maxY - rect.minY + 1));
        await harness.close();
      }),
      { numRuns: 60 },
    );
  });
});
