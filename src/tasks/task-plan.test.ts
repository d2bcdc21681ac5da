import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inLength } from '../../test/fixtures/length.ts';
import { createAreaCover } from '../domain/area-cover.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import { cutSeedPlan, cutTruncatePlan } from './cut-plan.ts';
import { nextPiece, pieceAt, pieceCount, stepCount, stepsOf, type TaskPlan } from './task-plan.ts';

const rectArbitrary = fc
  .tuple(fc.nat(300), fc.nat(300), fc.nat(200), fc.nat(200))
  .map(([minX, minY, width, height]): TileRect => ({ minX, minY, maxX: minX + width, maxY: minY + height }));

const planArbitrary = fc
  .record({
    rects: fc.array(rectArbitrary, { minLength: 1, maxLength: 3 }),
    columns: fc.integer({ min: 1, max: 9 }),
    rows: fc.integer({ min: 1, max: 9 }),
    threads: fc.integer({ min: 1, max: 64 }),
    truncate: fc.boolean(),
  })
  .map(({ rects, columns, rows, threads, truncate }) => {
    const levels = rects.map((rect, z) => ({ z, rect }));
    return truncate ? cutTruncatePlan(levels, null) : cutSeedPlan(levels, { columns, rows }, threads, null);
  });

function tilesOf(rect: TileRect): number {
  return (rect.maxX - rect.minX + 1) * (rect.maxY - rect.minY + 1);
}

function* piecesOf(plan: TaskPlan) {
  for (let piece = pieceAt(plan, 0); piece; piece = pieceAt(plan, piece.ordinal + 1)) yield piece;
}

describe('a plan', () => {
  it('a plan has every tile in exactly one piece and one step', () => {
    fc.assert(
      fc.property(planArbitrary, (plan) => {
        let inPieces = 0;
        let inSteps = 0;
        let count = 0;
        for (const piece of piecesOf(plan)) {
          count++;
          inPieces += tilesOf(piece.rect);
          const steps = [...stepsOf(plan, piece, 0)];
          expect(steps.map((step) => step.index)).toEqual(steps.map((_, i) => i));
          expect(steps).toHaveLength(stepCount(plan, piece));
          for (const step of steps) inSteps += tilesOf(step.rect);
        }
        const total = plan.levels.reduce((sum, { rect }) => sum + tilesOf(rect), 0);
        expect(count).toBe(pieceCount(plan));
        expect(inPieces).toBe(total);
        expect(inSteps).toBe(total);
      }),
      { numRuns: inLength(20, 1000) },
    );
  });

  it('a plan ends with single metatiles, so that no thread is left alone with several', () => {
    const levels = [4, 5].map((z) => ({ z, rect: { minX: 0, minY: 0, maxX: 2 ** z - 1, maxY: 2 ** z - 1 } }));
    const plan = cutSeedPlan(levels, { columns: 4, rows: 4 }, 2, null);
    const steps = [...piecesOf(plan)].map((piece) => stepCount(plan, piece));
    expect(Math.max(...steps)).toBeGreaterThan(1);
    expect(steps.slice(-8)).toEqual(Array(8).fill(1));
  });

  it('a plan never lets a metatile span two pieces', () => {
    const plan = cutSeedPlan(
      [{ z: 9, rect: { minX: 5, minY: 7, maxX: 500, maxY: 300 } }],
      { columns: 3, rows: 5 },
      4,
      null,
    );
    for (const piece of piecesOf(plan)) {
      for (const edge of [piece.rect.minX, piece.rect.maxX + 1]) {
        expect(edge % 3 === 0 || edge === 5 || edge === 501).toBe(true);
      }
      for (const edge of [piece.rect.minY, piece.rect.maxY + 1]) {
        expect(edge % 5 === 0 || edge === 7 || edge === 301).toBe(true);
      }
    }
  });

  it('a plan can be taken up at any step', () => {
    fc.assert(
      fc.property(planArbitrary, fc.nat(50), (plan, from) => {
        const piece = pieceAt(plan, 0);
        if (!piece) throw new Error('no piece');
        expect([...stepsOf(plan, piece, from)]).toEqual([...stepsOf(plan, piece, 0)].slice(from));
      }),
      { numRuns: inLength(20, 1000) },
    );
  });

  it('a plan goes from low zooms to high ones', () => {
    const levels = [0, 1, 2, 3].map((z) => ({
      z,
      rect: { minX: 0, minY: 0, maxX: 2 ** z - 1, maxY: 2 ** z - 1 },
    }));
    const zooms = [...piecesOf(cutSeedPlan(levels, { columns: 1, rows: 1 }, 1, null))].map(
      (piece) => piece.z,
    );
    expect(zooms).toEqual([...zooms].sort((a, b) => a - b));
  });

  it('a plan gives each thread of a small task several pieces, and a large task few large ones', () => {
    const level = (z: number) => ({ z, rect: { minX: 0, minY: 0, maxX: 2 ** z - 1, maxY: 2 ** z - 1 } });
    expect(pieceCount(cutSeedPlan([level(6)], { columns: 4, rows: 4 }, 2, null))).toBeGreaterThanOrEqual(16);
    expect(pieceCount(cutSeedPlan([level(20)], { columns: 4, rows: 4 }, 2, null))).toBe(2 ** 26);
  });

  it('a plan finds the next piece of an area across an emptiness of a billion pieces in one step', () => {
    const size = 2 ** 26;
    const geometry = { z: 26, left: 0, top: 0, tileSpanX: 1, tileSpanY: 1, rows: size };
    const square = (x: number, y: number) =>
      [
        [
          [x, -y],
          [x + 10, -y],
          [x + 10, -y - 10],
          [x, -y - 10],
        ],
      ] as const;
    const cover = createAreaCover([square(0, 0), square(size - 10, size - 10)], [geometry]);
    const plan = cutSeedPlan(
      [{ z: 26, rect: { minX: 0, minY: 0, maxX: size - 1, maxY: size - 1 } }],
      { columns: 4, rows: 4 },
      1,
      [geometry],
    );
    const pieces = [];
    for (let piece = nextPiece(plan, cover, 0); piece; piece = nextPiece(plan, cover, piece.ordinal + 1)) {
      pieces.push(piece);
      if (pieces.length > 1000) break;
    }
    expect(pieces[0]?.rect).toMatchObject({ minX: 0, minY: 0 });
    expect(pieces.at(-1)?.rect).toMatchObject({ maxX: size - 1, maxY: size - 1 });
  });
});
