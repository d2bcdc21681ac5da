// The pixel work, compiled to WebAssembly by scripts/pixels.mjs; src/raster/pixels.ts calls it.
import { FILE, FILTERED, IMAGE, ROWS } from './areas';
import { PALETTE } from './colours';
import { addToFingerprint, startFingerprint } from './fingerprint';

export { reserve } from './areas';
export { colourAt, indexColours } from './colours';
export { firstHalf, secondHalf } from './fingerprint';
export { readRows } from './read-rows';
export { writeIndexed, writeTrueColour } from './write-png';

export function imageArea(): usize {
  return IMAGE;
}

export function filteredArea(): usize {
  return FILTERED;
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
