import { setImmediate as nextTurn } from 'node:timers/promises';
import { MetatileCutter } from './metatile-cutter.ts';

const FORMAT = { mediaType: 'image/png' };
const SIDE = 256;
const METATILES = 4;
const NO_GUTTER = { left: 0, top: 0, right: 0, bottom: 0 };

/** Cuts synthetic metatiles, so that V8 has compiled the code before a task needs it. Stops when the signal aborts. */
export async function warmCutter(signal: AbortSignal, cutter = new MetatileCutter()): Promise<void> {
  for (let number = 0; number < METATILES && !signal.aborted; number++) {
    const drawn = { kind: 'pixels', pixels: drawPixels(number), width: SIDE, height: SIDE } as const;
    for (const { bytes } of await cutter.cut({ picture: drawn, grid: gridOf(1), format: FORMAT })) {
      await cutter.cut({ picture: { kind: 'encoded', bytes, ...FORMAT }, grid: gridOf(4), format: FORMAT });
    }
    await nextTurn();
  }
}

/** The left half has few colours, the right half more than a palette holds. */
function drawPixels(number: number): Buffer {
  const pixels = Buffer.alloc(SIDE * SIDE * 4, 0xff);
  for (let at = 0; at < SIDE * SIDE; at++) {
    const [x, y] = [at % SIDE, Math.floor(at / SIDE)];
    const colour = x < SIDE / 2 ? (x >> 4) + (y >> 5) : x * y;
    pixels.writeUInt16LE((colour + number) & 0xffff, at * 4);
  }
  return pixels;
}

function gridOf(side: number) {
  const length = SIDE / side;
  return { columns: side, rows: side, tileWidth: length, tileHeight: length, gutter: NO_GUTTER };
}
