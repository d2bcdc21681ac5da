import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inLength } from '../../test/fixtures/length.ts';
import { coveredRects, createAreaCover, zoomGeometryOf } from '../domain/area-cover.ts';
import { boundsOfPoints, polygonOfBounds } from '../domain/bounds.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { tilesOfBounds } from '../domain/grid-set.ts';
import { polygonsIn } from '../domain/place-in-grid-set.ts';
import { projectionOf, projectionOfSrs } from '../domain/projection.ts';
import { placeOfBounds } from './check-place.ts';
import { mergePlaces } from './merge-places.ts';

const box = (minX: number, minY: number, size = 0.001) =>
  placeOfBounds({ minX, minY, maxX: minX + size, maxY: minY + size }, 4326);

it('two changes far from each other stay two areas, and repeats are one', async () => {
  const merged = await mergePlaces([box(8, 47), box(100, -30), box(8, 47)]);
  expect(merged.map(({ polygons }) => polygons)).toEqual([box(8, 47).polygons, box(100, -30).polygons]);
});

it('10,000 changes become at most 16 areas of 512 boxes that contain every change', async () => {
  const all = Array.from({ length: 10_000 }, (_, i) =>
    box(-170 + (i % 100) * 3.3, -80 + Math.floor(i / 100) * 1.6),
  );
  const merged = await mergePlaces(all);
  expect(merged.length).toBeLessThanOrEqual(16);
  const boxes = merged.flatMap(({ polygons }) => polygons.map((polygon) => boundsOfPoints(polygon.flat())));
  expect(boxes.length).toBeLessThanOrEqual(16 * 512);
  const isIn = ([x = 0, y = 0]: readonly number[]) =>
    boxes.some(({ minX, minY, maxX, maxY }) => x >= minX && x <= maxX && y >= minY && y <= maxY);
  const corners = all.flatMap(({ polygons }) => polygons.flat(2));
  expect(corners.filter((corner) => !isIn(corner))).toEqual([]);
});

it('a box in another CRS covers every tile that contains one of its places', async () => {
  const gridSet = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
  const utm = projectionOfSrs(25832);
  const mercator = gridSet && projectionOf(gridSet);
  if (!gridSet || !utm || !mercator) throw new Error('the grid set or a CRS is missing');
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const side = fc.tuple(share, share, share, share, fc.integer({ min: 4, max: 18 }));
  await fc.assert(
    fc.asyncProperty(
      side,
      fc.array(fc.tuple(share, share), { minLength: 20, maxLength: 20 }),
      async ([a, b, c, d, z], inside) => {
        const [minX, minY] = [200_000 + a * 500_000, 5_200_000 + b * 600_000];
        const bounds = { minX, minY, maxX: minX + c * 200_000, maxY: minY + d * 200_000 };
        const changed = { srs: 25832, polygons: [polygonOfBounds(bounds)] };
        const { polygons, tolerance } = await polygonsIn(gridSet, z, changed, async () => {});
        const cover = createAreaCover(polygons, [
          zoomGeometryOf(gridSet, z, { pixels: 1, metresPerPixel: tolerance }),
        ]);
        for (const [u, v] of inside) {
          const [x, y] = [
            bounds.minX + u * (bounds.maxX - bounds.minX),
            bounds.minY + Math.round(v) * (bounds.maxY - bounds.minY),
          ];
          const place = utm.toLonLat(x, y);
          const [east = 0, north = 0] = (place && mercator.fromLonLat(...place)) ?? [];
          const rect = tilesOfBounds(gridSet, z, {
            minX: east - 1e-6,
            minY: north - 1e-6,
            maxX: east + 1e-6,
            maxY: north + 1e-6,
          });
          expect(rect && [...coveredRects(cover, z, rect)].length).toBeGreaterThan(0);
        }
      },
    ),
    { numRuns: inLength(40, 1000) },
  );
});
