import { describe, expect, it } from 'vitest';
import { format } from '../../test/fixtures/http-app.ts';
import { whenFileOver } from '../../test/fixtures/when-over.ts';
import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import { silentLogger } from '../lib/logger.ts';
import { filledImage } from './decode-image.ts';
import { createMapDrawer, type MapDrawing, type ReadTiles } from './draw-map.ts';
import { encodeImage } from './encode-image.ts';
import { openMapThread } from './open-map-thread.ts';

const axis = { first: 0, origin: 3.5, scale: 1.3, length: 300 };
const layer = {
  across: axis,
  down: axis,
  width: 256,
  height: 256,
  rect: { minX: 4, minY: 0, maxX: 5, maxY: 1 },
};
const drawing: MapDrawing = {
  layers: [layer, layer],
  width: 300,
  height: 300,
  format: format('image/png'),
  background: null,
};
const { signal } = new AbortController();

const read: ReadTiles = async (at, [tile]) => {
  const colours = [0xff000000 + at * 90, 0x80ff0000 + (tile?.y ?? 0) * 70];
  const tiles = colours.map((colour) => encodeImage(filledImage(256, 256, colour), format('image/png')));
  // As tiles that were cut together lie in memory.
  const encoded = await Promise.all(tiles);
  const shared = Buffer.concat(encoded);
  const [first] = encoded;
  return [shared.subarray(0, first?.length), shared.subarray(first?.length)];
};

const thread = openMapThread(silentLogger);
whenFileOver(() => thread.close());

describe('a thread that draws maps', () => {
  it('a map thread draws the same as without it, several maps at a time', async () => {
    const expected = await createMapDrawer()(drawing, read, signal);
    const drawn = await Promise.all([1, 2, 3].map(() => thread.draw(drawing, read, signal)));
    for (const { bytes, digest } of drawn) {
      expect(digest).toBe(expected.digest);
      expect(bytes.equals(expected.bytes)).toBe(true);
    }
  });

  it('a map thread reports why a tile could not be read, and draws on', async () => {
    const failing = async () => {
      throw new TilewardenError('source-unavailable', 'The map source cannot be reached.');
    };
    const failed = await thread.draw(drawing, failing, signal).catch((error: unknown) => error);
    expect(isTilewardenError(failed, 'source-unavailable')).toBe(true);
    expect((await thread.draw(drawing, read, signal)).bytes.length).toBeGreaterThan(0);
  });

  it('a map thread stops when the caller has gone, and reads no further rows', async () => {
    const gone = new AbortController();
    let rows = 0;
    const leaving: ReadTiles = async (...asked) => {
      rows++;
      gone.abort(new Error('gone'));
      return read(...asked);
    };
    await expect(thread.draw(drawing, leaving, gone.signal)).rejects.toThrow('gone');
    expect(rows).toBe(1);
    await expect(thread.draw(drawing, leaving, gone.signal)).rejects.toThrow('gone');
    expect(rows).toBe(1);
  });
});
