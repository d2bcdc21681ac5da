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

/** The same pixels by number of their colour; null when there are more than 256 colours. */
export function indexColours(image: RasterImage): IndexedImage | null {
  const words = pixelWords(image);
  const numbers = new Map<number, number>();
  const indexes = new Uint8Array(words.length);
  let lastColour = -1;
  let lastNumber = 0;
  for (let i = 0; i < words.length; i++) {
    const colour = words[i] ?? 0;
    if (colour !== lastColour) {
      const known = numbers.get(colour);
      if (known === undefined && numbers.size === MAX_COLOURS) return null;
      lastNumber = known ?? numbers.size;
      lastColour = colour;
      if (known === undefined) numbers.set(colour, lastNumber);
    }
    indexes[i] = lastNumber;
  }
  return transparentFirst(image, [...numbers.keys()], indexes);
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
