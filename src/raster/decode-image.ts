import type sharp from 'sharp';
import type { Metadata, Sharp } from 'sharp';
import type { RasterImage, Samples } from '../../packages/pixels/image.ts';
import { isTilewardenError } from '../domain/errors.ts';
import { checkStructure, recogniseImage, refuseImage } from './check-structure.ts';

export {
  type CutGrid,
  copyPart,
  filledImage,
  type ImagePart,
  type RasterImage,
  type Samples,
  samplesOf,
} from '../../packages/pixels/image.ts';

export interface DecodeLimits {
  readonly maxPixels: number;
  /** Another size is refused before decoding. */
  readonly size?: { readonly width: number; readonly height: number };
}

/** Decodes an image to RGBA. Throws `source-bad-answer` for incomplete, animated or too large ones. */
export async function decodeImage(bytes: Buffer, limits: DecodeLimits): Promise<RasterImage> {
  const { width, height, data } = await decode(bytes, limits, (image) => image.ensureAlpha());
  return { width, height, pixels: data };
}

/** As `decodeImage`, without adding alpha to an image that has none. */
export async function decodeSamples(bytes: Buffer, limits: DecodeLimits): Promise<Samples> {
  return await decode(bytes, limits, (image) => image);
}

async function decode(bytes: Buffer, limits: DecodeLimits, shape: (image: Sharp) => Sharp): Promise<Samples> {
  const mediaType = recogniseImage(bytes);
  if (!mediaType) throw refuseImage('not-an-image');
  checkStructure(bytes, mediaType);
  const sharp = await imageLibrary();
  try {
    const image = sharp(bytes, { failOn: 'warning', limitInputPixels: false });
    checkMetadata(await image.metadata(), limits);
    const { data, info } = await shape(image.toColourspace('srgb'))
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    return { width: info.width, height: info.height, channels: info.channels === 4 ? 4 : 3, data };
  } catch (error) {
    throw isTilewardenError(error) ? error : refuseImage('truncated', error);
  }
}

function checkMetadata({ width, height, pages }: Metadata, limits: DecodeLimits): void {
  if ((pages ?? 1) > 1) throw refuseImage('animated');
  const { size, maxPixels } = limits;
  if (width * height > maxPixels)
    throw refuseImage('oversized', new Error(`it is ${width}×${height} pixels`));
  if (size && (width !== size.width || height !== size.height)) {
    throw refuseImage('wrong-size', new Error(`it is ${width}×${height}, not ${size.width}×${size.height}`));
  }
}

type ImageLibrary = typeof sharp;

/** Loads sharp when first needed: cutting ordinary PNG does without its 30 MB and tenth of a second. */
export async function imageLibrary(): Promise<ImageLibrary> {
  const { default: library } = await import('sharp');
  // sharp caches operations, but ours never repeat.
  library.cache(false);
  return library;
}
