import { pixelWords } from './pixel-words.ts';
import type { RasterImage } from './raster-image.ts';

/** The one colour of all pixels as 0xAABBGGRR, or null. Fully transparent pixels are of one colour, 0, whatever lies under them. */
export function singleColour(image: RasterImage): number | null {
  const words = pixelWords(image);
  const first = words[0];
  if (first === undefined) return null;
  if (first >>> 24 === 0) return allTransparent(words) ? 0 : null;
  for (let i = 1; i < words.length; i++) {
    if (words[i] !== first) return null;
  }
  return first;
}

function allTransparent(words: Uint32Array): boolean {
  for (let i = 0; i < words.length; i++) {
    if ((words[i] ?? 0) >>> 24 !== 0) return false;
  }
  return true;
}
