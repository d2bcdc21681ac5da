import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PackedTile, readPackDetail, writePackDetail } from './pack-detail.ts';

const count = fc.nat(2 ** 40);
const packed: fc.Arbitrary<PackedTile> = fc.record({
  slot: fc.nat(24),
  object: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  length: fc.nat(5_000_000),
  createdAt: count,
  freshUntil: fc.option(count),
  madeBy: fc.option(count),
  validator: fc.option(fc.string({ unit: 'grapheme' })),
  ticket: count,
});
const tiles = fc
  .uniqueArray(packed, { selector: ({ slot }) => slot, maxLength: 25 })
  .map((some) => some.toSorted((a, b) => a.slot - b.slot));

describe('the description of a pack', () => {
  it('the description of a pack is read as it was written', () => {
    fc.assert(
      fc.property(tiles, (some) => {
        expect(readPackDetail(writePackDetail(some, 25), 25)).toEqual(some);
      }),
    );
  });

  it('the description of a pack of sixteen usual tiles takes fewer than seventy bytes', () => {
    const making = {
      object: 2 ** 47,
      createdAt: 1_800_000_000_000,
      freshUntil: null,
      madeBy: 12_345,
      validator: null,
      ticket: 10_000_000,
    };
    const usual = Array.from({ length: 16 }, (_, slot) => ({
      slot,
      length: 10_000 + slot * 1000,
      ...making,
    }));
    expect(writePackDetail(usual, 16).length).toBeLessThan(70);
  });

  it('the description of a pack that version 0.2 wrote has no tickets', () => {
    // One object, one making at 5 ms, neither fresh time nor maker nor validator; of one slot, a tile of 9 bytes.
    const former = Buffer.from([1, 1, 0, 0, 0, 0, 0, 7, 1, 5, 0, 0, 0, 1, 9]);
    expect(readPackDetail(former, 1)).toEqual([
      {
        ...{ slot: 0, object: 7, length: 9, createdAt: 5, freshUntil: null },
        ...{ madeBy: null, validator: null, ticket: 0 },
      },
    ]);
  });

  it('the description of a pack of a later version is refused', () => {
    expect(() => readPackDetail(Buffer.from([3, 0]), 1)).toThrow('form 3');
  });
});
