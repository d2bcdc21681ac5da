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

/** Draws pictures on each other. A picture that is invalid or of another size is `source-bad-answer`. */
export interface Composer {
  /** What `compose` takes: small PNG as they are, as they are decoded where they are drawn; other files decoded. */
  prepare(bytes: Buffer, size: PictureSize): Promise<Pick<PlacedPicture, 'kind' | 'bytes'>>;
  /** RGBA; the first picture is at the bottom. */
  compose(size: PictureSize, pictures: Iterable<PlacedPicture>): Promise<Buffer>;
}
