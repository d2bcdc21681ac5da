// AssemblyScript: the entry of the module that scripts/pixels.mjs compiles for ../pixels.ts and ../jpeg-cutter.ts.
import { FILTERED, PACKED, ROWS } from './areas';
import { PALETTE } from './colours';
import { addToFingerprint, startFingerprint } from './fingerprint';
import { inflate } from './inflate';

export { CANVAS, FILE, IMAGE, PACKED, reserve, startCanvas } from './areas';
export { colourAt, indexColours, PALETTE } from './colours';
export { cutJpeg, JPEG_FILE, JPEG_INPUT, layTile, reserveJpeg, tileColour } from './cut-jpeg';
export { clearColour, drawImage } from './draw-image';
export { firstHalf, secondHalf } from './fingerprint';
export { FACTORS, STEPS } from './jpeg-block';
export { learnToRead, learnToWrite } from './jpeg-codes';
export { readRows } from './read-rows';
export { writeIndexed, writeTrueColour } from './write-png';

/** Decompresses a PNG's rows; false unless both lengths are exact. */
export function unpackRows(packedBytes: i32, filteredBytes: i32): bool {
  return inflate(PACKED, packedBytes, FILTERED, filteredBytes);
}

/** Sets `firstHalf` and `secondHalf` to the fingerprint of the part that `indexColours` was called for last. */
export function fingerprintOfIndexed(colours: i32, width: i32, height: i32): void {
  startFingerprint();
  addToFingerprint(PALETTE, colours << 2);
  addToFingerprint(ROWS, (width + 1) * height); // One byte per pixel, and the filter byte of each row.
}

/** As `fingerprintOfIndexed`, of the pixels themselves; `stride`: pixels from row to row. */
export function fingerprintOfPart(pixels: usize, stride: i32, width: i32, height: i32): void {
  startFingerprint();
  for (let y = 0; y < height; y++) addToFingerprint(pixels + ((<usize>(y * stride)) << 2), width << 2);
}
