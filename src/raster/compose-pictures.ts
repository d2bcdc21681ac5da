import { Pixels } from '../../packages/pixels/pixels.ts';
import type { Composer, PlacedPicture } from '../domain/placed-picture.ts';
import { intersectRects } from '../domain/tile-rect.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { createPace } from '../lib/yielding.ts';
import { decodeImage } from './decode-image.ts';
import { isSmallPng, loadSmallPng } from './decode-tile.ts';
import { MAX_HELD_BYTES } from './encode-image.ts';

/** Pixels decoded and drawn in one turn of the event loop: about a millisecond. */
const PIXELS_PER_TURN = 125_000;

/**
 * Draws the pictures of composed layers, one composition at a time, because they share one canvas. `prepare` comes before
 * that turn, so that pictures which the image library decodes on its threads are decoded concurrently.
 */
export function createComposer(): Composer {
  const drawing = new Semaphore(1);
  let canvas = new Pixels();
  async function compose(...[size, pictures]: Parameters<Composer['compose']>): Promise<Buffer> {
    return drawing.during(async () => {
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

  return {
    async prepare(bytes, size) {
      if (isSmallPng(bytes, size)) return { kind: 'encoded', bytes };
      const maxPixels = size.width * size.height;
      return { kind: 'pixels', bytes: (await decodeImage(bytes, { maxPixels, size })).pixels };
    },
    compose,
  };
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
