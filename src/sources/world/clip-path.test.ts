import fc from 'fast-check';
import { expect, it } from 'vitest';
import { clipRing, PixelPath, sendNearSegments } from './clip-path.ts';

const box = { left: 0, top: 0, right: 100, bottom: 50 };

function pathOf(points: readonly (readonly [number, number])[]): PixelPath {
  const path = new PixelPath();
  for (const [x, y] of points) path.add(x, y);
  return path;
}

function pointsOf(path: PixelPath): [number, number][] {
  return Array.from({ length: path.length }, (_, place) => [path.x(place), path.y(place)]);
}

function areaOf(points: readonly (readonly [number, number])[]): number {
  const doubled = points.map(([ax, ay], place) => {
    const [bx, by] = points[(place + 1) % points.length] ?? [0, 0];
    return ax * by - bx * ay;
  });
  return Math.abs(doubled.reduce((sum, part) => sum + part, 0)) / 2;
}

it('leaves a ring inside the box as it is', () => {
  const points: [number, number][] = [
    [10, 10],
    [20, 10],
    [20, 20],
  ];
  expect(pointsOf(clipRing(pathOf(points), new PixelPath(), box))).toEqual(points);
});

it('turns a ring around the box into the box', () => {
  const around = pathOf([
    [-1e6, -1e6],
    [1e6, -1e6],
    [1e6, 1e6],
    [-1e6, 1e6],
  ]);
  expect(areaOf(pointsOf(clipRing(around, new PixelPath(), box)))).toBeCloseTo(100 * 50);
});

it('never lets a point of a ring out of the box', () => {
  const coordinate = fc.integer({ min: -500, max: 500 });
  fc.assert(
    fc.property(fc.array(fc.tuple(coordinate, coordinate), { minLength: 3, maxLength: 30 }), (points) => {
      for (const [x, y] of pointsOf(clipRing(pathOf(points), new PixelPath(), box))) {
        expect(x).toBeGreaterThanOrEqual(-1e-9);
        expect(x).toBeLessThanOrEqual(100 + 1e-9);
        expect(y).toBeGreaterThanOrEqual(-1e-9);
        expect(y).toBeLessThanOrEqual(50 + 1e-9);
      }
    }),
  );
});

it('sends only the segments that come near, whole when they are short and cut when they are far', () => {
  const sent: string[] = [];
  const sink = {
    moveTo: (x: number, y: number) => sent.push(`M${x},${y}`),
    lineTo: (x: number, y: number) => sent.push(`L${x},${y}`),
  };
  const line = pathOf([
    [-300, -20],
    [-200, -20],
    [-10, 25],
    [50, 25],
    [50, 90],
    [200, 90],
    [200, 25],
    [-1e6, 25],
  ]);
  sendNearSegments(line, box, sink);
  expect(sent).toEqual(['M-10,25', 'L50,25', 'L50,90', 'M100,25', 'L0,25']);
});
