import { createRequire } from 'node:module';
import sharp from 'sharp';
import type { RasterImage } from './raster-image.ts';

const FONT_FILE = '@fontsource/inter/files/inter-latin-400-normal.woff';
const MARGIN = 4;
/** Below this no word is readable. */
const LEAST_SIDE = 16;
const MAX_CHARACTERS = 1000;
const MARKUP: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** A transparent picture with as much of the text as fits into it, in black on white. */
export async function drawText(text: string, width: number, height: number): Promise<RasterImage> {
  const empty = { width, height, pixels: Buffer.alloc(width * height * 4) };
  const [innerWidth, innerHeight] = [width - 2 * MARGIN, height - 2 * MARGIN];
  if (innerWidth < LEAST_SIDE || innerHeight < LEAST_SIDE || text.trim() === '') return empty;
  const words = text.slice(0, MAX_CHARACTERS).replace(/[&<>]/g, (sign) => MARKUP[sign] ?? sign);
  const written = await sharp({
    text: {
      text: `<span foreground="black" background="white">${words}</span>`,
      font: 'Inter 11',
      fontfile: createRequire(import.meta.url).resolve(FONT_FILE),
      width: innerWidth,
      rgba: true,
      wrap: 'word-char',
    },
  })
    .png()
    .toBuffer({ resolveWithObject: true });
  const visible = {
    left: 0,
    top: 0,
    width: Math.min(written.info.width, innerWidth),
    height: Math.min(written.info.height, innerHeight),
  };
  const input = await sharp(written.data).extract(visible).toBuffer();
  const pixels = await sharp(empty.pixels, { raw: { width, height, channels: 4 } })
    .composite([{ input, left: MARGIN, top: MARGIN }])
    .raw()
    .toBuffer();
  return { width, height, pixels };
}
