import fc from 'fast-check';
import { expect, it } from 'vitest';
import { countCovered, createAreaCover, zoomGeometryOf } from '../domain/area-cover.ts';
import { builtInGridSets } from '../domain/built-in-grid-sets.ts';
import { cutSeedPlan } from './cut-plan.ts';
import { pieceAt, pieceCount, stepCount, stepsOf, zoomProgress } from './task-plan.ts';

const mercator = builtInGridSets().find(({ name }) => name === 'EPSG:900913');
if (!mercator) throw new Error('no web mercator');
const E = 20_037_508.34;
const TRIANGLE = [
  [
    [
      [-E, -E],
      [E / 2, -E / 3],
      [0, E],
      [-E, -E],
    ] as const,
  ],
];

it('progress by zoom counts exactly the steps that are done, whatever is in flight or waits', async () => {
  const geometry = Array.from({ length: 7 }, (_, z) => zoomGeometryOf(mercator, z));
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        metatile: fc.record({
          columns: fc.integer({ min: 1, max: 5 }),
          rows: fc.integer({ min: 1, max: 5 }),
        }),
        corner: fc.nat(2),
        threads: fc.integer({ min: 1, max: 8 }),
        hasArea: fc.boolean(),
        cursor: fc.nat(1000),
        steps: fc.array(fc.nat(1000), { maxLength: 4 }),
      }),
      async ({ metatile, corner, threads, hasArea, cursor, steps }) => {
        const levels = [2, 4, 6].map((z) => ({
          z,
          rect: { minX: corner, minY: 0, maxX: 2 ** z - 1, maxY: 2 ** z - 1 - corner },
        }));
        const cover = hasArea ? createAreaCover(TRIANGLE, geometry) : null;
        const plan = cutSeedPlan(levels, metatile, threads, hasArea ? geometry : null);
        const nextPiece = cursor % (pieceCount(plan) + 1);
        const open = new Map(steps.map((done, place) => [nextPiece - 1 - 2 * place, done]));
        const position = { nextPiece, pieces: [] as { piece: number; doneSteps: number }[], waiting: [] };
        const expected = new Map(levels.map(({ z }) => [z, 0n]));
        for (let ordinal = 0; ordinal < nextPiece; ordinal++) {
          const piece = pieceAt(plan, ordinal);
          if (!piece) throw new Error('no such piece');
          const all = stepCount(plan, piece);
          const doneSteps = open.has(ordinal) ? (open.get(ordinal) ?? 0) % all : all;
          if (open.has(ordinal)) position.pieces.push({ piece: ordinal, doneSteps });
          for (const { index, z, rect } of stepsOf(plan, piece, 0))
            if (index < doneSteps) expected.set(z, (expected.get(z) ?? 0n) + countCovered(cover, z, rect));
        }
        const zooms = await zoomProgress(plan, cover, position);
        expect(new Map(zooms.map(({ z, processed }) => [z, processed]))).toEqual(expected);
        expect(zooms.map(({ z, tiles }) => [z, tiles])).toEqual(
          levels.map(({ z, rect }) => [z, countCovered(cover, z, rect)]),
        );
        const waiting = [{ z: 4, tiles: 3n }];
        const later = await zoomProgress(plan, cover, { ...position, waiting });
        expect(later.find(({ z }) => z === 4)?.processed).toBe((expected.get(4) ?? 0n) - 3n);
      },
    ),
    { numRuns: 100 },
  );
});

it('progress by zoom of a million million tiles is counted without listing pieces', async () => {
  const rect = { minX: 0, minY: 0, maxX: 2 ** 20 - 1, maxY: 2 ** 20 - 1 };
  const plan = cutSeedPlan([{ z: 20, rect }], { columns: 4, rows: 4 }, 8, null);
  const [zoom] = await zoomProgress(plan, null, { nextPiece: 3, pieces: [], waiting: [] });
  expect(zoom).toEqual({ z: 20, tiles: 2n ** 40n, processed: 3n * 128n * 128n });
});
