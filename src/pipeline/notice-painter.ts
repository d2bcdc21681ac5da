import { createKeyedSingleFlight } from '../lib/keyed-single-flight.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { Semaphore } from '../lib/semaphore.ts';
import { drawText, type TextPicture } from '../raster/encode-map.ts';
import { checkMapSize, inTurn } from './map-composer.ts';

/**
 * Draws a notice, such as an error text, in place of a map. Throws `request-invalid` for a size that maps may not have,
 * and `source-busy`. An abort concerns only its caller, not others that wait for the same picture.
 */
export type NoticePainter = (notice: TextPicture, signal: AbortSignal) => Promise<Buffer>;

/** Larger notices are drawn smaller in the same proportions; clients stretch them to the size of the map. */
const MAX_PIXELS = 512 * 512;
const MAX_KEPT_BYTES = 4 * 1024 * 1024;
const AT_ONCE = 1;
const MAX_WAITING = 64;

export function createNoticePainter(): NoticePainter {
  const places = new Semaphore(AT_ONCE, { maxWaiting: MAX_WAITING });
  const flights = createKeyedSingleFlight<Buffer>();
  const kept = new RecentMap<string, Buffer>(MAX_KEPT_BYTES);

  return async (notice, signal) => {
    checkMapSize(notice.width, notice.height);
    const picture = { ...notice, ...reducedSize(notice) };
    const { text, width, height, format, background } = picture;
    const key = JSON.stringify([format.mediaType, width, height, background, text]);
    const paint = async (everyoneGone: AbortSignal) => {
      const bytes = await inTurn(places, everyoneGone, () => drawText(picture));
      kept.set(key, bytes, 2 * key.length + bytes.length);
      return bytes;
    };
    return kept.get(key) ?? (await flights.run(key, paint, signal));
  };
}

function reducedSize({ width, height }: TextPicture): { readonly width: number; readonly height: number } {
  const factor = Math.sqrt(Math.min(1, MAX_PIXELS / (width * height)));
  return { width: Math.max(1, Math.floor(width * factor)), height: Math.max(1, Math.floor(height * factor)) };
}
