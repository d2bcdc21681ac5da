import { imageLibrary } from './decode-image.ts';
import { refuseImage } from './image-refusal.ts';
import type { RasterImage } from './raster-image.ts';

/**
 * Tiles side by side as one picture, with `rim` pixels more on the left and on the right that are like the outermost
 * ones. One call of the library for all of them, off the main thread: one for each tile costs that thread more than
 * the copying does. Refused as `source-bad-answer` when a tile cannot be decoded or has another size.
 */
export async function decodeStrip(
  tiles: readonly Buffer[],
  { width, height }: Pick<RasterImage, 'width' | 'height'>,
  rim: number,
): Promise<RasterImage> {
  const options = { failOn: 'warning', limitInputPixels: width * height } as const;
  const [first] = tiles;
  const sharp = await imageLibrary();
  const image =
    tiles.length === 1
      ? sharp(first, options)
      : sharp([...tiles], { ...options, join: { across: tiles.length } });
  const { data, info } = await image
    .pipelineColourspace('srgb')
    .toColourspace('srgb')
    .ensureAlpha()
    .extend({ left: rim, right: rim, extendWith: 'copy' })
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
    .catch((error: unknown) => {
      throw refuseImage('truncated', error);
    });
  if (info.width !== width * tiles.length + 2 * rim || info.height !== height) {
    throw refuseImage('wrong-size', new Error(`a tile is not of ${width}×${height} pixels`));
  }
  return { width: info.width, height: info.height, pixels: data };
}
