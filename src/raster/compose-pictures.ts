import { Pixels } from '../../packages/pixels/pixels.ts';
import type { ComposePictures, PlacedPicture } from '../domain/placed-picture.ts';
import { intersectRects } from '../domain/tile-rect.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { createPace } from '../lib/yielding.ts';
import { decodeImage } from './decode-image.ts';
import { loadSmallPng } from './decode-tile.ts';
import { MAX_HELD_BYTES } from './encode-image.ts';

/** Pixels that are decoded and drawn in one turn of the event loop: about a millisecond. */
const PIXELS_PER_TURN = 125_000;

/** Draws one composition at a time, all of them in the same memory. Pictures outside the canvas are not decoded. */
export function createComposer(): ComposePictures {
  const drawing = new Semaphore(1);
  let canvas = new Pixels();
  return (size, pictures) =>
    drawing.during(async () => {
      const pace = createPace(PIXELS_PER_TURN);
      if (canvas.bytes > MAX_HELD_BYTES) canvas = new Pixels();
      canvas.startCanvas(size.width, size.height);
      for (const picture of pictures) {
        const { left, top, width, height, clear } = picture;
        const whole = { minX: left, minY: top, maxX: left + width - 1, maxY: top + height - 1 };
        const inside = intersectRects(picture.inside, whole);
        if (!inside) continue;
        await load(canvas, picture);
        if (clear) canvas.clearColour(clear.rgb, clear.tolerance);
        canvas.draw(left, top, inside, picture.opacity);
        await pace(width * height);
      }
      return canvas.drawn().pixels;
    });
}

async function load(canvas: Pixels, { kind, bytes, width, height }: PlacedPicture): Promise<void> {
  const size = { width, height };
  if (kind === 'encoded' && loadSmallPng(canvas, bytes, size)) return;
  const isFile = kind === 'encoded';
  const image = isFile
    ? await decodeImage(bytes, { maxPixels: width * height, size })
    : { ...size, pixels: bytes };
  canvas.load(image, 1, 1);
}
