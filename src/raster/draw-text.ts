import { createRequire } from 'node:module';
import type { Format } from '../domain/format.ts';
import { escapeXml } from '../lib/xml/write-xml.ts';
import { imageLibrary } from './decode-image.ts';
import { type Colour, writeMap } from './encode-map.ts';

const FONT_FILE = '@fontsource/inter/files/inter-latin-400-normal.woff';
const MARGIN = 4;
/** Below this no word is readable. */
const LEAST_SIDE = 16;
const MAX_CHARACTERS = 1000;

export interface TextPicture {
  readonly text: string;
  readonly width: number;
  readonly height: number;
  readonly format: Format;
  /** Null: transparent. */
  readonly background: Colour | null;
}

/** A picture with as much of the text as fits into it, in black on white; off the main thread. */
export async function drawText({ text, width, height, format, background }: TextPicture): Promise<Buffer> {
  const input = await writtenText(text, width - 2 * MARGIN, height - 2 * MARGIN);
  const sharp = await imageLibrary();
  const canvas = sharp({ create: { width, height, channels: 4, background: '#00000000' } });
  const picture = input ? canvas.composite([{ input, left: MARGIN, top: MARGIN }]) : canvas;
  return await writeMap(picture, format, background);
}

async function writtenText(text: string, width: number, height: number): Promise<Buffer | null> {
  if (width < LEAST_SIDE || height < LEAST_SIDE || text.trim() === '') return null;
  const sharp = await imageLibrary();
  const { data, info } = await sharp({
    text: {
      text: `<span foreground="black" background="white">${escapeXml(text.slice(0, MAX_CHARACTERS))}</span>`,
      font: 'Inter 11',
      fontfile: createRequire(import.meta.url).resolve(FONT_FILE),
      width,
      rgba: true,
      wrap: 'word-char',
    },
  })
    .png()
    .toBuffer({ resolveWithObject: true });
  const visible = {
    left: 0,
    top: 0,
    width: Math.min(info.width, width),
    height: Math.min(info.height, height),
  };
  return await sharp(data).extract(visible).toBuffer();
}
