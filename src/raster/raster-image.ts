/** Decoded pixels: RGBA, row by row, not premultiplied. */
export interface RasterImage {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}
