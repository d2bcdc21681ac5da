import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combOf } from '../../test/fixtures/layers.ts';
import { inLength } from '../../test/fixtures/length.ts';
import { countCovered, createAreaCover, MAX_VISITS, type ZoomGeometry } from './area-cover.ts';
import type { Polygon } from './bounds.ts';
import type { TileRect } from './tile-rect.ts';

/** A tile is a unit square; row 0 lies between y = 0 and y = -1. */
const unit = (rows: number, z = 0, size = 1): ZoomGeometry => ({
  z,
  left: 0,
  top: 0,
  tileSpanX: size,
  tileSpanY: size,
  rows,
});

const whole = (size: number): TileRect => ({ minX: 0, minY: 0, maxX: size - 1, maxY: size - 1 });

const square = (x: number, y: number, side: number): Polygon => [
  [
    [x, -y],
    [x + side, -y],
    [x + side, -y - side],
    [x, -y - side],
  ],
];

function covered(polygons: readonly Polygon[], size: number): string[] {
  const cover = createAreaCover(polygons, [unit(size)]);
  const tiles: string[] = [];
  for (const band of cover.bands(0, whole(size))) {
    for (let y = band.minY; y <= band.maxY; y++) {
      for (const run of band.runs) {
        for (let x = run.minX; x <= run.maxX; x++) tiles.push(`${x},${y}`);
      }
    }
  }
  return tiles;
}

/** Whether the inside of a convex polygon shares area with the unit square of a tile: no edge separates them. */
function overlaps(ring: readonly (readonly [number, number])[], x: number, y: number): boolean {
  const tile = [
    [x, -y],
    [x + 1, -y],
    [x + 1, -y - 1],
    [x, -y - 1],
  ] as const;
  const separated = (a: readonly (readonly [number, number])[], b: readonly (readonly [number, number])[]) =>
    a.some(([x1, y1], i) => {
      const [x2, y2] = a[(i + 1) % a.length] ?? [x1, y1];
      const side = ([px, py]: readonly [number, number]) => (x2 - x1) * (py - y1) - (y2 - y1) * (px - x1);
      const inner = Math.sign(a.reduce((sum, point) => sum + side(point), 0));
      return b.every((point) => side(point) * inner <= 1e-9);
    });
  return !separated(ring, tile) && !separated(tile, ring);
}

it('a cover of few bands has no more of them, and every tile of the exact one', () => {
  const triangle: Polygon = [
    [
      [3, -5],
      [900, -40],
      [30, -990],
    ],
  ];
  const zooms = [unit(1000)];
  const few = [...createAreaCover([triangle], zooms, 16).bands(0, whole(1000))];
  expect(few.length).toBeLessThanOrEqual(16);
  const isIn = (y: number, minX: number, maxX: number) =>
    few.some(
      (band) =>
        band.minY <= y && y <= band.maxY && band.runs.some((run) => run.minX <= minX && maxX <= run.maxX),
    );
  for (const { minY, maxY, runs } of createAreaCover([triangle], zooms).bands(0, whole(1000)))
    for (const { minX, maxX } of runs) expect(isIn(minY, minX, maxX) && isIn(maxY, minX, maxX)).toBe(true);
});

describe('an area', () => {
  it('an area covers the tiles it shares area with, and not those it only touches at an edge', () => {
    expect(covered([square(1, 1, 2)], 8)).toEqual(['1,1', '2,1', '1,2', '2,2']);
    expect(covered([square(1.5, 1.5, 0.25)], 8)).toEqual(['1,1']);
  });

  it('an area leaves holes out', () => {
    const ring = (square(0, 0, 5)[0] ?? []) as Polygon[number];
    const hole = (square(1, 1, 3)[0] ?? []) as Polygon[number];
    expect(covered([[ring, hole]], 8)).toHaveLength(25 - 9);
  });

  it('an area may have separate parts', () => {
    expect(covered([square(0, 0, 1), square(6, 6, 1)], 8)).toEqual(['0,0', '6,6']);
  });

  it('an area has the tiles that geometry gives for any triangle', () => {
    const number = fc.double({ min: 0.01, max: 11.99, noNaN: true });
    const point = fc.tuple(
      number,
      number.map((y) => -y),
    );
    fc.assert(
      fc.property(point, point, point, (a, b, c) => {
        const area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        fc.pre(Math.abs(area) > 0.1);
        const ring = [a, b, c];
        const tiles = new Set(covered([[ring]], 12));
        for (let y = 0; y < 12; y++) {
          for (let x = 0; x < 12; x++) {
            // At a hair's breadth both answers are right.
            const clear = overlaps(shrink(ring, 1e-4), x, y);
            if (clear) expect(tiles).toContain(`${x},${y}`);
            if (!overlaps(shrink(ring, -1e-4), x, y)) expect(tiles).not.toContain(`${x},${y}`);
          }
        }
      }),
      { numRuns: inLength(30, 2000) },
    );
  });

  it('an area is counted at zoom 30 without going through its tiles, never too small and at most a 4096th too generous', () => {
    const rows = 2 ** 30;
    const size = 8 / rows;
    const cover = createAreaCover([square(1, 1, 5)], [unit(rows, 30, size)]);
    const count = countCovered(cover, 30, whole(rows));
    const exact = BigInt(Math.round(5 / size)) ** 2n;
    expect(count).toBeGreaterThanOrEqual(exact);
    expect(Number(count - exact) / Number(exact)).toBeLessThan(1 / 1000);
  });

  it('an area of 10,000 points with edges as high as itself takes a bounded number of looks at its edges at any zoom', () => {
    const comb = combOf(10_000, { minX: 0.1, minY: -7.9, maxX: 7.9, maxY: -0.1 });
    for (const z of [3, 12, 20, 30]) {
      const rows = 2 ** z;
      const cover = createAreaCover([comb], [unit(rows, z, 8 / rows)]);
      let visits = 0;
      for (const band of cover.scan(z, whole(rows))) visits += band.visits;
      expect(visits).toBeLessThanOrEqual(MAX_VISITS);
    }
  });

  it('an area with edges as high as itself loses no tile when its bands grow higher', () => {
    const rows = 2 ** 14;
    const teeth = combOf(400, { minX: 0.1, minY: -7.9, maxX: 7.9, maxY: -0.1 });
    const cover = createAreaCover([teeth], [unit(rows, 14, 8 / rows)]);
    const points = teeth
      .flat()
      .map(([x, y]) => ({ x: Math.floor((x * rows) / 8), y: Math.floor((-y * rows) / 8) }));
    for (const { x, y } of points) {
      expect(countCovered(cover, 14, { minX: x, minY: y, maxX: x, maxY: y })).toBe(1n);
    }
  });

  it('an area counts the same in pieces as whole', () => {
    const ring = [
      [3, -100],
      [900, -350],
      [420, -990],
    ] as const;
    for (const rows of [1000, 20_000]) {
      const geometry = unit(rows, 0, 1000 / rows);
      const cover = createAreaCover([[ring]], [geometry]);
      let sum = 0n;
      const half = rows / 2;
      for (const minX of [0, half]) {
        for (const minY of [0, half]) {
          sum += countCovered(cover, 0, { minX, minY, maxX: minX + half - 1, maxY: minY + half - 1 });
        }
      }
      expect(sum).toBe(countCovered(cover, 0, whole(rows)));
    }
  });
});

function shrink(ring: readonly (readonly [number, number])[], share: number): [number, number][] {
  const cx = ring.reduce((sum, [x]) => sum + x, 0) / ring.length;
  const cy = ring.reduce((sum, [, y]) => sum + y, 0) / ring.length;
  return ring.map(([x, y]) => [x + (cx - x) * share, y + (cy - y) * share]);
}
