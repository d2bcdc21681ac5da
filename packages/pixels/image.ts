/** Decoded pixels: RGBA, row by row, not premultiplied. */
export interface RasterImage {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}

/** Decoded pixels with or without alpha, row by row. */
export interface Samples {
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
  readonly data: Buffer;
}

/** A block of pixels within an image. */
export interface ImagePart {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** How an image divides into equal tiles, inside a gutter that is cut off. */
export interface CutGrid {
  readonly columns: number;
  readonly rows: number;
  readonly tileWidth: number;
  readonly tileHeight: number;
  /** Width of the gutter on each side, in pixels. */
  readonly gutter: Readonly<Record<'left' | 'top' | 'right' | 'bottom', number>>;
}

export function samplesOf({ width, height, pixels }: RasterImage): Samples {
  return { width, height, channels: 4, data: pixels };
}

/** `colour`: 0xAABBGGRR. */
export function filledImage(width: number, height: number, colour: number): RasterImage {
  const words = new Uint32Array(width * height).fill(colour);
  return { width, height, pixels: Buffer.from(words.buffer) };
}

export function copyPart({ data, width: stride, channels }: Samples, part: ImagePart): Samples {
  const { left, top, width, height } = part;
  const copy = Buffer.allocUnsafe(width * height * channels);
  for (let row = 0; row < height; row++) {
    const start = ((top + row) * stride + left) * channels;
    data.copy(copy, row * width * channels, start, start + width * channels);
  }
  return { width, height, channels, data: copy };
}
