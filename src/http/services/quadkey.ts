import { TilewardenError } from '../../domain/errors.ts';
import { MAX_LEVELS } from '../../domain/grid-set.ts';
import { shortened } from '../../domain/shortened.ts';
import type { TileIndex } from '../../domain/tile-key.ts';

const QUADKEY = /^[0-3]*$/;

/** One digit for each zoom, from the top: 1 adds a column, 2 a row, 3 both. `213` is column 3, row 5 at zoom 3. */
export function tileOfQuadkey(quadkey: string): TileIndex {
  if (!QUADKEY.test(quadkey) || quadkey.length >= MAX_LEVELS) {
    throw new TilewardenError(
      'request-invalid',
      `A quadkey is made of at most ${MAX_LEVELS - 1} digits 0 to 3, such as 0231; this is not: ${shortened(quadkey)}`,
    );
  }
  let [x, y] = [0, 0];
  for (const digit of quadkey) {
    x = 2 * x + (Number(digit) % 2);
    y = 2 * y + Math.floor(Number(digit) / 2);
  }
  return { z: quadkey.length, x, y };
}
