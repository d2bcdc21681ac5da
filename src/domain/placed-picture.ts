import type { TileRect } from './tile-rect.ts';

export type Rgb = readonly [number, number, number];

/** A colour that is drawn as transparent. */
export interface ClearColour {
  readonly rgb: Rgb;
  /** By how much each channel may differ. */
  readonly tolerance: number;
}

interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** A picture on a larger one. */
export interface PlacedPicture extends PictureSize {
  /** A file, or RGBA, row by row, not premultiplied. */
  readonly kind: 'encoded' | 'pixels';
  readonly bytes: Buffer;
  /** Where its first pixel is; it may be outside. */
  readonly left: number;
  readonly top: number;
  /** Pixels of the larger picture that it may change, first and last. */
  readonly inside: TileRect;
  readonly opacity: number;
  readonly clear: ClearColour | null;
}

/** Draws pictures on each other, the first at the bottom; RGBA. `source-bad-answer`: invalid, or of another size. */
export type ComposePictures = (size: PictureSize, pictures: Iterable<PlacedPicture>) => Promise<Buffer>;
