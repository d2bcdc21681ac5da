import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeTileSource } from '../../../test/contracts/tile-source.ts';
import { boundsOf } from '../../domain/bounds.ts';
import { formatOf } from '../../domain/format.ts';
import { boundsOfRect, createGridSet, type GridSet } from '../../domain/grid-set.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { SourceRequest, TileSource } from '../tile-source.ts';
import { openWorldSource } from './world-source.ts';

const HALF_EQUATOR = 20037508.342789244;
const mercator = createGridSet({
  name: 'EPSG:900913',
  srs: 900913,
  extent: boundsOf([-HALF_EQUATOR, -HALF_EQUATOR, HALF_EQUATOR, HALF_EQUATOR]),
  levels: 20,
});
const geographic = createGridSet({
  name: 'EPSG:4326',
  srs: 4326,
  extent: boundsOf([-180, -90, 180, 90]),
  levels: 20,
});
const lambert = createGridSet({
  name: 'EPSG:2154',
  srs: 2154,
  extent: boundsOf([0, 6000000, 1300000, 7200000]),
  levels: 4,
});

interface Wish {
  readonly z?: number;
  readonly x?: number;
  readonly y?: number;
  readonly style?: string;
  readonly signal?: AbortSignal;
}

function requestFor(gridSet: GridSet, wish: Wish = {}): SourceRequest {
  const { z = 0, x = 0, y = 0 } = wish;
  const rect = { minX: x, minY: y, maxX: x, maxY: y };
  const format = formatOf('image/png');
  if (!format) throw new Error('image/png is a format');
  return {
    gridSet,
    metatile: { z, column: x, row: y, rect },
    bounds: boundsOfRect(gridSet, z, rect),
    width: 256,
    height: 256,
    format,
    parameters: new Map(wish.style === undefined ? [] : [['STYLES', wish.style]]),
    priority: 'interactive',
    signal: wish.signal ?? new AbortController().signal,
  };
}

async function pixelsOf(source: TileSource, request: SourceRequest): Promise<Buffer> {
  const answer = await source.fetch(request);
  if (answer.kind !== 'pixels') throw new Error('the map answers with pixels');
  expect(answer.pixels.length).toBe(answer.width * answer.height * 4);
  return answer.pixels;
}

describeTileSource('world', {
  async open() {
    const source = openWorldSource({ type: 'world', threads: 1 }, { log: silentLogger });
    return { source, close: () => source.close() };
  },
  formats: ['image/png'],
  breakIt: null,
  hang: null,
});

describe('the world source', () => {
  let source: TileSource;
  beforeAll(() => {
    source = openWorldSource({ type: 'world', threads: 1 }, { log: silentLogger });
  });
  afterAll(() => source.close());

  it.each([
    ['mercator', mercator],
    ['geographic', geographic],
  ])('the world source draws opaque pixels of the requested size in the %s plane', async (_, gridSet) => {
    const pixels = await pixelsOf(source, requestFor(gridSet));
    expect(pixels.filter((_value, place) => place % 4 === 3).every((alpha) => alpha === 255)).toBe(true);
  });

  it('the world source draws each style differently, and light by default', async () => {
    const [none, light, dark, outline] = await Promise.all([
      pixelsOf(source, requestFor(mercator)),
      pixelsOf(source, requestFor(mercator, { style: 'light' })),
      pixelsOf(source, requestFor(mercator, { style: 'dark' })),
      pixelsOf(source, requestFor(mercator, { style: 'outline' })),
    ]);
    expect(none.equals(light)).toBe(true);
    expect(light.equals(dark)).toBe(false);
    expect(light.equals(outline)).toBe(false);
    expect(dark.equals(outline)).toBe(false);
  });

  it('the world source refuses a style it does not have', async () => {
    await expect(source.fetch(requestFor(mercator, { style: 'sepia' }))).rejects.toMatchObject({
      code: 'parameter-refused',
    });
  });

  it('the world source lists its planes when another is requested', async () => {
    await expect(source.fetch(requestFor(lambert))).rejects.toMatchObject({
      code: 'source-unavailable',
      message: expect.stringContaining('EPSG:3857'),
    });
  });

  it('the world source rejects with the reason of a signal that aborts before, while waiting and drawing', async () => {
    const reason = new Error('gone');
    await expect(source.fetch(requestFor(mercator, { signal: AbortSignal.abort(reason) }))).rejects.toBe(
      reason,
    );
    const [drawing, waiting] = [new AbortController(), new AbortController()];
    const fetches = [drawing, waiting].map(({ signal }) =>
      source.fetch(requestFor(mercator, { z: 5, x: 16, y: 10, signal })),
    );
    waiting.abort(reason);
    drawing.abort(reason);
    for (const fetch of await Promise.allSettled(fetches)) {
      expect(fetch).toEqual({ status: 'rejected', reason });
    }
    expect((await pixelsOf(source, requestFor(mercator))).length).toBe(256 * 256 * 4);
  });

  it('the world source leaves the event loop free while it draws', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await source.fetch(requestFor(mercator, { z: 4, x: 8, y: 5 }));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
  });
});

it('the world source fails drawings under way and waiting ones when it closes', async () => {
  const source = openWorldSource({ type: 'world', threads: 1 }, { log: silentLogger });
  const fetches = [1, 2, 3].map(() => source.fetch(requestFor(mercator)));
  const outcomes = Promise.allSettled(fetches);
  await new Promise(setImmediate);
  await source.close();
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'stopping' } });
  }
  await expect(source.fetch(requestFor(mercator))).rejects.toMatchObject({ code: 'stopping' });
});
