import { pixelWords } from './pixel-words.ts';
import type { RasterImage } from './raster-image.ts';

export interface IndexedImage {
  readonly width: number;
  readonly height: number;
  /** 0xAABBGGRR by index; those that are not opaque come first. */
  readonly palette: Uint32Array;
  /** One byte a pixel. */
  readonly indexes: Uint8Array;
}

const MAX_COLOURS = 256;
const SLOT_BITS = 10;
const SLOTS = 2 ** SLOT_BITS;
/** Knuth's multiplicative hash: 2^32 by the golden ratio. */
const HASH_FACTOR = 0x9e3779b1;

/** Most attempts end early: only what is found is copied from here. */
let scratch = new Uint8Array(0);

/** The same pixels by number of their colour; null when there are more than 256 colours. */
export function indexColours(image: RasterImage): IndexedImage | null {
  const words = pixelWords(image);
  const numbers = new ColourNumbers();
  if (scratch.length < words.length) scratch = new Uint8Array(words.length);
  const indexes = scratch;
  let lastColour = words[0] as number;
  let lastNumber = numbers.of(lastColour);
  indexes[0] = lastNumber;
  for (let i = 1; i < words.length; i++) {
    const colour = words[i] as number;
    if (colour !== lastColour) {
      lastColour = colour;
      lastNumber = numbers.of(colour);
      if (lastNumber === MAX_COLOURS) return null;
    }
    indexes[i] = lastNumber;
  }
  return transparentFirst(image, numbers.colours(), indexes.slice(0, words.length));
}

/** Numbers colours as they come. A table with open places: most tiles of many colours are found out by it. */
class ColourNumbers {
  readonly #slots = new Int16Array(SLOTS).fill(-1);
  readonly #colours = new Uint32Array(MAX_COLOURS + 1);
  #size = 0;

  /** MAX_COLOURS: there is no room for another. */
  of(colour: number): number {
    let slot = Math.imul(colour, HASH_FACTOR) >>> (32 - SLOT_BITS);
    for (let number = this.#slots[slot] as number; number >= 0; number = this.#slots[slot] as number) {
      if (this.#colours[number] === colour) return number;
      slot = (slot + 1) & (SLOTS - 1);
    }
    if (this.#size === MAX_COLOURS) return MAX_COLOURS;
    this.#slots[slot] = this.#size;
    this.#colours[this.#size] = colour;
    return this.#size++;
  }

  colours(): number[] {
    return [...this.#colours.subarray(0, this.#size)];
  }
}

/** PNG's tRNS chunk names the alpha of the first entries only: with the opaque ones last it stays short. */
function transparentFirst(
  { width, height }: RasterImage,
  colours: readonly number[],
  indexes: Uint8Array,
): IndexedImage {
  if (colours.every(isOpaque)) return { width, height, palette: Uint32Array.from(colours), indexes };
  const sorted = [...colours.filter((colour) => !isOpaque(colour)), ...colours.filter(isOpaque)];
  const places = new Map(sorted.map((colour, place) => [colour, place]));
  const moved = Uint8Array.from(colours, (colour) => places.get(colour) ?? 0);
  return {
    width,
    height,
    palette: Uint32Array.from(sorted),
    indexes: indexes.map((index) => moved[index] ?? 0),
  };
}

export function isOpaque(colour: number): boolean {
  return colour >>> 24 === 0xff;
}
