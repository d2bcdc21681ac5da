// The layout of the module's memory: canvas, image, then either a PNG that is read or a tile that is written.

/** Bytes behind each area that loops of 16 bytes at a time may read or overwrite. */
export const MARGIN: usize = 64;
const PAGE_BITS: usize = 16;
/** Where the first area begins. To cut a JPEG, `cut-jpeg.ts` lays its own areas from here, over these. */
export const START: usize = (__heap_base + 15) & ~15;

/** The canvas, in the format of `IMAGE`; empty until `startCanvas`. */
export const CANVAS: usize = START;
let canvasPixels: usize = 0;

/** Pixels as 0xAABBGGRR, row by row. */
export let IMAGE: usize = 0;
/** Decompressed rows of the PNG that is read, each behind its filter byte. */
export let FILTERED: usize = 0;
/** The zlib stream of those rows. */
export let PACKED: usize = 0;
/** Rows of the tile that is written, each behind its filter byte. This and the next two areas overlay the PNG's. */
export let ROWS: usize = 0;
/** Three rows to try filters in. */
export let TRIED: usize = 0;
/** The PNG file that is written. */
export let FILE: usize = 0;

/** Begins a transparent canvas and discards the image; false if there is not enough memory. */
export function startCanvas(pixels: usize): bool {
  canvasPixels = pixels;
  if (!pagesUpTo(aligned(CANVAS + (pixels << 2)))) return false;
  memory.fill(CANVAS, 0, pixels << 2);
  return true;
}

/**
 * Lays out the memory for an image, the rows of its PNG (`filteredBytes` decompressed, `packedBytes` compressed) and
 * one tile. Keeps the content of the image; false if there is not enough memory.
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
  // No deflate code is longer than 15 bits, so incompressible rows grow to less than double. 8192: headers, palette, checksums.
  const end = max(FILE + 2 * rowBytes * tileHeight + 8192, aligned(PACKED + packedBytes));
  return pagesUpTo(end);
}

/** Grows the memory up to `end`; false if the machine has not enough. */
export function pagesUpTo(end: usize): bool {
  const missing = <isize>(end - ((<usize>memory.size()) << PAGE_BITS));
  return missing <= 0 || memory.grow(<i32>((missing + 0xffff) >> PAGE_BITS)) >= 0;
}

function aligned(at: usize): usize {
  return (at + MARGIN + 15) & ~15;
}
