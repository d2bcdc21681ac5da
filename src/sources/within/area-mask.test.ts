import { describe, expect, it } from 'vitest';
import { type Polygon, polygonHolds, polygonOfBounds } from '../../domain/bounds.ts';
import { maskOf } from './area-mask.ts';

const PICTURE = { bounds: { minX: 0, minY: 0, maxX: 8, maxY: 4 }, width: 8, height: 4 };

function box(minX: number, minY: number, maxX: number, maxY: number): Polygon {
  return polygonOfBounds({ minX, minY, maxX, maxY });
}

/** Rows of percents, from the top. */
function percents(...polygons: readonly Polygon[]): readonly (readonly number[])[] {
  const mask = maskOf(polygons, PICTURE);
  if (typeof mask === 'string') throw new Error(mask);
  return Array.from({ length: 4 }, (_, row) =>
    Array.from(mask.subarray(row * 8, row * 8 + 8), (share) => Math.round(share * 100)),
  );
}

describe('the mask of an area', () => {
  it('a mask has the share of each pixel that is covered', () => {
    expect(percents(box(1.5, 1.25, 4.5, 3))).toEqual([
      [0, 0, 0, 0, 0, 0, 0, 0],
      [0, 50, 100, 100, 50, 0, 0, 0],
      [0, 38, 75, 75, 38, 0, 0, 0],
      [0, 0, 0, 0, 0, 0, 0, 0],
    ]);
  });

  it('a mask is the same for rings in either direction, and holes are cut out', () => {
    const [outer = []] = box(0, 0, 8, 4);
    const [hole = []] = box(2, 1, 6, 3);
    const row = [100, 100, 0, 0, 0, 0, 100, 100];
    for (const polygon of [
      [outer, hole],
      [[...outer].reverse(), hole],
      [outer, [...hole].reverse()],
    ]) {
      expect(percents(polygon)[1]).toEqual(row);
      expect(percents(polygon)[0]).toEqual(Array(8).fill(100));
    }
  });

  it('a diagonal edge covers half of the pixels on it', () => {
    const triangle: Polygon = [
      [
        [0, 0],
        [4, 0],
        [0, 4],
      ],
    ];
    expect(percents(triangle).map((row) => row.slice(0, 5))).toEqual([
      [50, 0, 0, 0, 0],
      [100, 50, 0, 0, 0],
      [100, 100, 50, 0, 0],
      [100, 100, 100, 50, 0],
    ]);
  });

  it('polygons that share an edge leave no seam, and those that overlap cover once', () => {
    expect(maskOf([box(-5, -5, 3.3, 9), box(3.3, -5, 20, 9)], PICTURE)).toBe('everything');
    expect(percents(box(0, 0, 5, 9), box(2, 0, 7, 9))[2]).toEqual([100, 100, 100, 100, 100, 100, 100, 0]);
  });

  it('a picture wholly inside or outside needs no mask', () => {
    expect(maskOf([box(-1, -1, 9, 9)], PICTURE)).toBe('everything');
    for (const outside of [box(9, 0, 12, 4), box(-5, 0, 0, 4), box(0, 4, 8, 9), box(0, -9, 8, 0)]) {
      expect(maskOf([outside], PICTURE)).toBe('nothing');
    }
  });

  it('a mask agrees with a dense grid of points for shapes that reach beyond the picture on all sides', () => {
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
      const mask = maskOf([[star]], PICTURE);
      for (let pixel = 0; pixel < 32; pixel++) {
        let hits = 0;
        for (let i = 0; i < 1600; i++) {
          const x = (pixel % 8) + ((i % 40) + 0.5) / 40;
          const y = 4 - Math.floor(pixel / 8) - (Math.floor(i / 40) + 0.5) / 40;
          if (polygonHolds([star], x, y)) hits++;
        }
        const covered = typeof mask === 'string' ? Number(mask === 'everything') : (mask[pixel] ?? 0);
        expect(Math.abs(covered - hits / 1600)).toBeLessThan(0.04);
      }
    }
  });
});
