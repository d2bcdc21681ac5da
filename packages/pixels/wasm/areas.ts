/** Bytes that may be read or written behind an area, sixteen at a time. */
export const MARGIN: usize = 64;
const PAGE_BITS: usize = 16;
/** Where the first area begins. */
export const START: usize = (__heap_base + 15) & ~15;

/** A picture that others are drawn on, like the image. It stays when an image is loaded; empty until it is begun. */
export const CANVAS: usize = START;
let canvasPixels: usize = 0;

/** Pixels as 0xAABBGGRR, row by row. */
export let IMAGE: usize = 0;
/** Rows of a PNG as they come, each behind the byte that names its filter; in the same place as the next two. */
export let FILTERED: usize = 0;
/** The stream that they are unpacked from. */
export let PACKED: usize = 0;
/** The same of a tile that is being written. */
export let ROWS: usize = 0;
/** Three rows for filters that are tried. */
export let TRIED: usize = 0;
/** The file that is being written. */
export let FILE: usize = 0;

/** Begins a transparent canvas of so many pixels; false when there is not enough memory. What lay in the image is lost. */
export function startCanvas(pixels: usize): bool {
  canvasPixels = pixels;
  if (!pagesUpTo(aligned(CANVAS + (pixels << 2)))) return false;
  memory.fill(CANVAS, 0, pixels << 2);
  return true;
}

/**
 * Lays out the memory for an image of so many pixels, a PNG's rows of so many bytes before and after they are unpacked,
 * and tiles of so many pixels.
 * What lies in the image stays; false when there is not enough memory.
 */
export function reserve(
  imagePixels: usize,
  filteredBytes: usize,
  packedBytes: usize,
  tileWidth: usize,
  tileHeight: usize,
): bool {
  const rowBytes = (tileWidth << 2) + 1;
  IMAGE = aligned(CANVAS + (canvasPixels << 2));
  FILTERED = aligned(IMAGE + (imagePixels << 2));
  PACKED = aligned(FILTERED + filteredBytes);
  ROWS = FILTERED;
  TRIED = aligned(ROWS + rowBytes * tileHeight);
  FILE = aligned(TRIED + 3 * aligned(rowBytes));
  // No code of deflate is longer than 15 bits: what does not compress grows to less than the double.
  const end = max(FILE + 2 * rowBytes * tileHeight + 8192, aligned(PACKED + packedBytes));
  return pagesUpTo(end);
}

/** Has the memory reach up to `end`. */
export function pagesUpTo(end: usize): bool {
  const missing = <isize>(end - ((<usize>memory.size()) << PAGE_BITS));
  return missing <= 0 || memory.grow(<i32>((missing + 0xffff) >> PAGE_BITS)) >= 0;
}

function aligned(at: usize): usize {
  return (at + MARGIN + 15) & ~15;
}
