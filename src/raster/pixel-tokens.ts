/** One number a pixel, 0xAABBGGRR, row by row. */
export interface PixelRows {
  readonly words: Int32Array;
  readonly width: number;
  readonly height: number;
}

/** PNG (third edition) table 15: the byte before each row. */
const FILTER_NONE = 0;

export const LITERAL = 0;
export const ROW_START = 1;
export const AS_LEFT = 2;
export const AS_ABOVE = 3;

/** Rows told in words: one pixel as it is, or so many like the one to the left or like those above. */
export interface PixelTokens {
  kinds: Uint8Array;
  /** The pixel, the byte that starts a row, or the number of pixels, which does not reach beyond the row. */
  values: Int32Array;
  size: number;
}

export function createPixelTokens(): PixelTokens {
  return { kinds: new Uint8Array(0), values: new Int32Array(0), size: 0 };
}

export function tokenise({ words, width, height }: PixelRows, tokens: PixelTokens): void {
  makeRoom(tokens, (width + 1) * height);
  tokens.size = 0;
  for (let y = 0; y < height; y++) tokens.size = tokeniseRow(words, y * width, width, tokens);
}

function tokeniseRow(words: Int32Array, start: number, width: number, tokens: PixelTokens): number {
  const { kinds, values } = tokens;
  const end = start + width;
  const hasAbove = start > 0;
  let count = tokens.size;
  kinds[count] = ROW_START;
  values[count++] = FILTER_NONE;
  for (let at = start; at < end; count++) {
    const first = at++;
    const pixel = words[first] as number;
    if (first > start && pixel === words[first - 1]) {
      while (at < end && words[at] === pixel) at++;
      kinds[count] = AS_LEFT;
      values[count] = at - first;
      continue;
    }
    if (hasAbove && pixel === words[first - width]) {
      while (at < end && words[at] === words[at - width]) at++;
      kinds[count] = AS_ABOVE;
      values[count] = at - first;
      continue;
    }
    kinds[count] = LITERAL;
    values[count] = pixel;
  }
  return count;
}

function makeRoom(tokens: PixelTokens, size: number): void {
  if (tokens.kinds.length >= size) return;
  tokens.kinds = new Uint8Array(size);
  tokens.values = new Int32Array(size);
}
