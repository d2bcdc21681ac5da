// The pixel work, compiled to WebAssembly by scripts/pixels.mjs; src/raster/pixels.ts calls it.
import { FILE, FILTERED, IMAGE, PACKED, ROWS } from './areas';
import { PALETTE } from './colours';

import { addToFingerprint, startFingerprint } from './fingerprint';
import { inflate } from './inflate';
import { FACTORS, STEPS } from './jpeg-block';

export { reserve } from './areas';
export { colourAt, indexColours } from './colours';
export {
  cutJpeg,
  jpegEdges,
  jpegFile,
  jpegInput,
  layTile,
  reserveJpeg,
  tileColour,
} from './cut-jpeg';
export { firstHalf, secondHalf } from './fingerprint';
export { learnToRead, learnToWrite } from './jpeg-codes';
export { readRows } from './read-rows';
export { writeIndexed, writeTrueColour } from './write-png';

export function imageArea(): usize {
  return IMAGE;
}

export function packedArea(): usize {
  return PACKED;
}

/** Unpacks a PNG's rows; false unless exactly so many bytes become exactly so many. */
export function unpackRows(packedBytes: i32, filteredBytes: i32): bool {
  return inflate(PACKED, packedBytes, FILTERED, filteredBytes);
}

export function fileArea(): usize {
  return FILE;
}

export function paletteArea(): usize {
  return PALETTE;
}

/** Of what `indexColours` made. */
export function fingerprintOfIndexed(colours: i32, width: i32, height: i32): void {
  startFingerprint();
  addToFingerprint(PALETTE, colours << 2);
  addToFingerprint(ROWS, (width + 1) * height);
}

export function fingerprintOfPart(pixels: usize, stride: i32, width: i32, height: i32): void {
  startFingerprint();
  for (let y = 0; y < height; y++) addToFingerprint(pixels + ((<usize>(y * stride)) << 2), width << 2);
}

export function jpegSteps(): usize {
  return STEPS;
}

export function jpegFactors(): usize {
  return FACTORS;
}
