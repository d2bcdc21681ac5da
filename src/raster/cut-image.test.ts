import { describe, expect, it } from 'vitest';
import { paintImage } from '../../test/fixtures/sample-images.ts';
import { cutImage } from './cut-image.ts';
import { singleColour } from './single-colour.ts';

describe('cutImage', () => {
  const image = paintImage(40, 30, (x, y) => [x, y, 0, 255]);

  it('copies the block at its place', () => {
    const cut = cutImage(image, 5, 7, 10, 4);
    expect(cut.pixels.equals(paintImage(10, 4, (x, y) => [x + 5, y + 7, 0, 255]).pixels)).toBe(true);
  });

  it('refuses a block that reaches out of the image', () => {
    expect(() => cutImage(image, 31, 0, 10, 4)).toThrow(RangeError);
    expect(() => cutImage(image, -1, 0, 10, 4)).toThrow(RangeError);
  });
});

describe('singleColour', () => {
  it('finds the colour of an image that has one', () => {
    expect(singleColour(paintImage(9, 9, () => [1, 2, 3, 4]))).toBe(0x04030201);
  });

  it('finds none as soon as one pixel differs', () => {
    expect(singleColour(paintImage(9, 9, (x, y) => [x === 8 && y === 8 ? 1 : 0, 0, 0, 255]))).toBeNull();
  });

  it('reads pixels that begin at an odd place in memory', () => {
    const source = paintImage(9, 9, () => [1, 2, 3, 255]);
    const pixels = Buffer.alloc(source.pixels.length + 3).subarray(3);
    source.pixels.copy(pixels);
    expect(singleColour({ ...source, pixels })).toBe(0xff030201);
  });
});
