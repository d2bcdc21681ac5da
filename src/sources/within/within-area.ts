import { type AreaMask, applyMask } from '../../domain/area-mask.ts';
import { maskWithin } from '../../domain/placed-area.ts';
import type { Rgb } from '../../domain/placed-picture.ts';
import type { CurrentArea, SourceTools } from '../source-driver.ts';
import type { SourceRequest, SourceResult, TileSource } from '../tile-source.ts';

/** The pixels of a source's picture, and how current they are. */
type DrawnPicture = Pick<
  Extract<SourceResult, { kind: 'pixels' }>,
  'pixels' | 'stale' | 'failure' | 'freshSeconds' | 'warning'
>;

async function pictureOf(
  source: TileSource,
  request: SourceRequest,
  decode: SourceTools['decode'],
): Promise<DrawnPicture | null> {
  const answer = await source.fetch({ ...request, validator: null });
  if (answer.kind === 'pixels') return answer;
  if (answer.kind !== 'encoded') return null;
  const { freshSeconds = null, warning = null } = answer;
  return { pixels: await decode(answer.bytes, request), freshSeconds, warning };
}

function masked(picture: Buffer, mask: AreaMask): Buffer {
  if (typeof mask === 'string') return picture;
  const pixels = Buffer.from(picture);
  applyMask(pixels, mask);
  return pixels;
}

/** A source whose pictures are clipped; `background` is the colour outside, null: transparent. */
export function withinArea(
  source: TileSource,
  area: CurrentArea,
  background: Rgb | null,
  decode: SourceTools['decode'],
): TileSource {
  return {
    ...source,
    async fetch(request) {
      const mask = await maskWithin([area()], request.gridSet, request);
      if (mask === 'everything') return source.fetch(request);
      const { width, height } = request;
      const drawn = mask === 'nothing' ? null : await pictureOf(source, request, decode);
      if (!drawn && !background) return { kind: 'nothing' };
      const pixels = drawn ? masked(drawn.pixels, mask) : Buffer.alloc(4 * width * height);
      if (background) fillBehind(pixels, background, mask);
      return { kind: 'pixels', ...drawn, pixels, width, height };
    },
  };
}

/** Paints the colour into the share of each pixel that is outside. */
function fillBehind(pixels: Buffer, colour: Rgb, mask: AreaMask): void {
  for (let i = 0; i < pixels.length; i += 4) {
    const outside = 255 - (typeof mask === 'string' ? 0 : (mask[i / 4] ?? 0));
    const alpha = pixels[i + 3] ?? 0;
    const sum = alpha + outside;
    if (sum === 0) continue;
    for (const [channel, value] of colour.entries()) {
      pixels[i + channel] = Math.round(((pixels[i + channel] ?? 0) * alpha + value * outside) / sum);
    }
    pixels[i + 3] = Math.min(255, Math.round(sum));
  }
}

/** `#rgb` or `#rrggbb`. */
export function rgbOf(colour: string): Rgb {
  const digits = colour.slice(1);
  const number = Number.parseInt(digits.length === 3 ? digits.replace(/./g, '$&$&') : digits, 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}
