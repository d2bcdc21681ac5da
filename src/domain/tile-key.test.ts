import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type TileSetKey, tileSetId } from './tile-key.ts';

/** Few letters, so that names made to be confused with each other do come up. */
function confusable(): fc.Arbitrary<string> {
  return fc.string({
    unit: fc.constantFrom('a', '"', ',', '\\', '/', ':', '_', '\u0000', 'ä'),
    maxLength: 4,
  });
}

function tileSet(): fc.Arbitrary<TileSetKey> {
  return fc.record({
    layer: confusable(),
    gridSet: confusable(),
    format: confusable(),
    parametersId: fc.option(confusable()),
  });
}

function equal(a: TileSetKey, b: TileSetKey): boolean {
  return (
    a.layer === b.layer &&
    a.gridSet === b.gridSet &&
    a.format === b.format &&
    a.parametersId === b.parametersId
  );
}

describe('the id of a tile set', () => {
  it('the id of a tile set is shared by no other tile set', () => {
    fc.assert(
      fc.property(tileSet(), tileSet(), (a, b) => {
        expect(tileSetId(a) === tileSetId(b)).toBe(equal(a, b));
      }),
      { numRuns: 5000 },
    );
  });

  it('the id of a tile set distinguishes default parameters from an empty name and from the word null', () => {
    const ids = [null, '', 'null'].map((parametersId) =>
      tileSetId({ layer: 'l', gridSet: 'g', format: 'f', parametersId }),
    );
    expect(new Set(ids).size).toBe(3);
  });
});
