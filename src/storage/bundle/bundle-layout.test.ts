import { isAbsolute, relative, sep } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PAGE_SIZE, type TileSetKey } from '../../domain/tile-key.ts';
import { rectContains, type TileRect } from '../../domain/tile-rect.ts';
import { BUNDLE_SIZE, bundleIndexOf, coverOfBundle, keyOfTile, pageOfKey, tilePlace } from './bundle-grid.ts';
import { bundleFolder, bundleLayout, parseBundleFolder, tileSetFolder } from './bundle-layout.ts';

const layout = bundleLayout('/data/tiles');

const name = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: fc.constantFrom('.', '/', '\\', '-', 'a', 'A', ':', ' ', '\0', '%'), maxLength: 12 }),
);
const tileSet: fc.Arbitrary<TileSetKey> = fc.record({
  layer: name,
  gridSet: name,
  format: name,
  parametersId: fc.option(name),
});
const index = fc.nat(2 ** 30 - 1);

it('every bundle of every name is three folders below the layers, under names a disk takes', () => {
  fc.assert(
    fc.property(tileSet, fc.nat(30), index, index, (set, z, bundleX, bundleY) => {
      const path = relative(layout.layers, bundleFolder(tileSetFolder(layout, set), z, bundleX, bundleY));
      expect(isAbsolute(path)).toBe(false);
      const parts = path.split(sep);
      expect(parts).toHaveLength(4);
      for (const part of parts) expect(part).toMatch(/^[a-z0-9_-]{1,80}$/);
    }),
  );
});

it('no two tile sets have one folder, not even on a disk that ignores case', () => {
  fc.assert(
    fc.property(tileSet, tileSet, (a, b) => {
      fc.pre(JSON.stringify(a) !== JSON.stringify(b));
      expect(tileSetFolder(layout, a).toLowerCase()).not.toBe(tileSetFolder(layout, b).toLowerCase());
    }),
  );
  const capital = { layer: 'A', gridSet: 'g', format: 'f', parametersId: null };
  expect(tileSetFolder(layout, capital).toLowerCase()).not.toBe(
    tileSetFolder(layout, { ...capital, layer: 'a' }).toLowerCase(),
  );
});

it('no two tiles of a zoom have one place in a bundle', () => {
  const place = fc.tuple(index, index);
  const keyed = ([x, y]: [number, number]) =>
    `${bundleFolder('set', 1, bundleIndexOf(x), bundleIndexOf(y))} ${keyOfTile(x, y)}`;
  fc.assert(
    fc.property(place, place, (a, b) => {
      expect(keyed(a) === keyed(b)).toBe(a[0] === b[0] && a[1] === b[1]);
    }),
  );
});

it('the place of a tile follows from its key', () => {
  fc.assert(
    fc.property(index, index, (x, y) => {
      const key = keyOfTile(x, y);
      expect(key).toBeLessThan(BUNDLE_SIZE * BUNDLE_SIZE);
      expect(tilePlace({ bundleX: bundleIndexOf(x), bundleY: bundleIndexOf(y) }, key)).toEqual({ x, y });
      expect(pageOfKey(key)).toBe(
        Math.floor((y % BUNDLE_SIZE) / PAGE_SIZE) * (BUNDLE_SIZE / PAGE_SIZE) +
          Math.floor((x % BUNDLE_SIZE) / PAGE_SIZE),
      );
    }),
  );
});

it('the part of a rectangle in a bundle covers exactly the tiles that they share', () => {
  const side = fc.tuple(fc.nat(400), fc.nat(400)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  fc.assert(
    fc.property(side, side, ([minX, maxX], [minY, maxY]) => {
      const rect: TileRect = { minX, minY, maxX, maxY };
      const covered = new Set<number>();
      for (const { page, ranges } of coverOfBundle(1, 1, rect)) {
        for (const { first, last } of ranges) {
          for (let key = first; key <= last; key++) {
            if (pageOfKey(key) !== page) expect.fail(`key ${key} is not of page ${page}`);
            covered.add(key);
          }
        }
      }
      for (let key = 0; key < BUNDLE_SIZE * BUNDLE_SIZE; key++) {
        const { x, y } = tilePlace({ bundleX: 1, bundleY: 1 }, key);
        if (rectContains(rect, x, y) !== covered.has(key)) expect.fail(`key ${key}`);
      }
    }),
    { numRuns: 30 },
  );
});

it('the place of a bundle is read from its folder, and other names are ignored', () => {
  expect(parseBundleFolder('12_345')).toEqual([12, 345]);
  for (const other of ['12', '12_', 'x_1', '-1_2', '1_2.tmp']) expect(parseBundleFolder(other)).toBeNull();
});
