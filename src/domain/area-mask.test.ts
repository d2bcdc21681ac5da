import { describe, expect, it } from 'vitest';
import { createPace } from '../lib/yielding.ts';
import { chainOf } from './area-chains.ts';
import { type AreaMask, joinMasks, maskOf } from './area-mask.ts';
import { packPolygons } from './area-shape.ts';
import { type MapPicture, type Polygon, polygonOfBounds } from './bounds.ts';

const PICTURE = { bounds: { minX: 0, minY: 0, maxX: 8, maxY: 4 }, width: 8, height: 4 };

function box(minX: number, minY: number, maxX: number, maxY: number): Polygon {
  return polygonOfBounds({ minX, minY, maxX, maxY });
}

async function mask(polygons: readonly Polygon[], picture: MapPicture = PICTURE): Promise<AreaMask> {
  const pace = createPace(10_000);
  return maskOf(await chainOf(packPolygons(polygons), pace), picture, pace);
}

/** Rows of percents, from the top. */
async function percents(...polygons: readonly Polygon[]): Promise<readonly (readonly number[])[]> {
  return rowsOf(await mask(polygons));
}

function rowsOf(mask: AreaMask): readonly (readonly number[])[] {
  if (typeof mask === 'string') throw new Error(mask);
  return Array.from({ length: 4 }, (_, row) =>
    Array.from(mask.subarray(row * 8, row * 8 + 8), (share) => Math.round(share / 2.55)),
  );
}

describe('the mask of an area', () => {
  it('a mask has the share of each pixel that is covered', async () => {
    expect(await percents(box(1.5, 1.25, 4.5, 3))).toEqual([
      [0, 0, 0, 0, 0, 0, 0, 0],
      [0, 50, 100, 100, 50, 0, 0, 0],
      [0, 38, 75, 75, 38, 0, 0, 0],
      [0, 0, 0, 0, 0, 0, 0, 0],
    ]);
  });

  it('a mask is the same for rings in either direction, and holes are cut out', async () => {
    const [outer = []] = box(0, 0, 8, 4);
    const [hole = []] = box(2, 1, 6, 3);
    const row = [100, 100, 0, 0, 0, 0, 100, 100];
    for (const polygon of [
      [outer, hole],
      [[...outer].reverse(), hole],
      [outer, [...hole].reverse()],
    ]) {
      expect((await percents(polygon))[1]).toEqual(row);
      expect((await percents(polygon))[0]).toEqual(Array(8).fill(100));
    }
  });

  it('a diagonal edge covers half of the pixels on it', async () => {
    const triangle: Polygon = [
      [
        [0, 0],
        [4, 0],
        [0, 4],
      ],
    ];
    expect((await percents(triangle)).map((row) => row.slice(0, 5))).toEqual([
      [50, 0, 0, 0, 0],
      [100, 50, 0, 0, 0],
      [100, 100, 50, 0, 0],
      [100, 100, 100, 50, 0],
    ]);
  });

  it('polygons that share an edge leave no seam, and those that overlap cover once', async () => {
    expect(await percents(box(-5, -5, 3.3, 9), box(3.3, -5, 20, 9))).toEqual(
      Array(4).fill(Array(8).fill(100)),
    );
    expect((await percents(box(0, 0, 5, 9), box(2, 0, 7, 9)))[2]).toEqual([
      100, 100, 100, 100, 100, 100, 100, 0,
    ]);
  });

  it('a picture wholly inside or outside needs no mask', async () => {
    expect(await mask([box(-1, -1, 9, 9)])).toBe('everything');
    for (const outside of [box(9, 0, 12, 4), box(-5, 0, 0, 4), box(0, 4, 8, 9), box(0, -9, 8, 0)]) {
      expect(await mask([outside])).toBe('nothing');
    }
  });

  it('a mask agrees with a dense grid of points for shapes that reach beyond the picture on all sides', async () => {
    let seed = 7;
    const random = () => {
      seed = (seed * 16807) % 2147483647;
      return seed / 2147483647;
    };
    for (let round = 0; round < 30; round++) {
      const corners = 3 + Math.floor(random() * 8);
      const star = Array.from({ length: corners }, (_, i): [number, number] => {
        const radius = 1 + random() * 7;
        const angle = (2 * Math.PI * i) / corners;
        return [4 + radius * Math.cos(angle), 2 + radius * Math.sin(angle)];
      });
      const shares = await mask([[star]]);
      for (let pixel = 0; pixel < 32; pixel++) {
        let hits = 0;
        for (let i = 0; i < 1600; i++) {
          const x = (pixel % 8) + ((i % 40) + 0.5) / 40;
          const y = 4 - Math.floor(pixel / 8) - (Math.floor(i / 40) + 0.5) / 40;
          if (polygonHolds([star], x, y)) hits++;
        }
        const covered =
          typeof shares === 'string' ? Number(shares === 'everything') : (shares[pixel] ?? 0) / 255;
        expect(Math.abs(covered - hits / 1600)).toBeLessThan(0.04);
      }
    }
  });

  it('masks of several areas are joined, and all or nothing of a picture is found in them', async () => {
    const [left, right] = [await mask([box(-1, -1, 3.5, 9)]), await mask([box(3.5, -1, 9, 9)])];
    expect(joinMasks([left, right])).toBe('everything');
    expect(joinMasks([await mask([box(20, 20, 30, 30)]), 'nothing'])).toBe('nothing');
    expect(rowsOf(joinMasks([await mask([box(0, 0, 2, 4)]), await mask([box(6, 0, 9, 4)])]))[0]).toEqual([
      100, 100, 0, 0, 0, 0, 100, 100,
    ]);
  });

  it('many polygons that are smaller than a pixel cover what they cover together', async () => {
    const side = 1 / 40;
    const tiny = Array.from({ length: 160 * 160 }, (_, i): Polygon => {
      const [x, y] = [1 + (i % 160) * side, Math.floor(i / 160) * side];
      return box(x, y, x + side, y + side);
    });
    expect((await percents(...tiny))[1]).toEqual([0, 100, 100, 100, 100, 0, 0, 0]);
  });

  it('an area of a million points takes many short turns, and each picture only a part of the points', async () => {
    const million = 1_000_000;
    const ring = Array.from({ length: million }, (_, i): [number, number] => {
      const angle = (2 * Math.PI * i) / million;
      const radius = 1000 + (i % 2) / 10;
      return [radius * Math.cos(angle), radius * Math.sin(angle)];
    });
    const steps: number[] = [];
    const pace = async (units: number) => {
      steps.push(units);
    };
    const area = await chainOf(packPolygons([[ring]]), pace);
    expect(Math.max(...steps)).toBeLessThan(2000);
    expect(steps.reduce((sum, step) => sum + step)).toBeGreaterThan(million);
    /** Pictures of 256 × 256 pixels around the eastern end of the circle, from all of it to a metre. */
    for (const span of [4096, 512, 16, 1]) {
      steps.length = 0;
      const bounds = { minX: 1000 - span / 2, minY: -span / 2, maxX: 1000 + span / 2, maxY: span / 2 };
      const shares = await maskOf(area, { bounds, width: 256, height: 256 }, pace);
      if (typeof shares === 'string') throw new Error(shares);
      expect(steps.reduce((sum, step) => sum + step, 0)).toBeLessThan(60_000);
      const pixel = span / 256;
      for (const row of [0, 50, 128, 200]) {
        const y = bounds.maxY - (row + 0.5) * pixel;
        const covered = shares
          .subarray(row * 256, row * 256 + 256)
          .reduce((sum, share) => sum + share / 255, 0);
        const half = Math.abs(y) < 1000 ? Math.sqrt(1000.05 ** 2 - y ** 2) : 0;
        const wanted = (Math.min(half, bounds.maxX) - Math.min(half, Math.max(-half, bounds.minX))) / pixel;
        expect(Math.abs(covered - wanted), `${span} m, row ${row}`).toBeLessThan(0.5 + 0.06 / pixel);
      }
    }
  });
});

/** Whether the polygon contains a place: a ray to the right crosses the rings an odd number of times. */
function polygonHolds(polygon: Polygon, x: number, y: number): boolean {
  let inside = false;
  for (const ring of polygon) {
    for (const [i, [x1, y1]] of ring.entries()) {
      const [x2, y2] = ring[(i + 1) % ring.length] ?? [x1, y1];
      if (y1 > y !== y2 > y && x < x1 + ((y - y1) / (y2 - y1)) * (x2 - x1)) inside = !inside;
    }
  }
  return inside;
}
