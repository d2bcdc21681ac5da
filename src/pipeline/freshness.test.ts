import { describe, expect, it } from 'vitest';
import { raise } from '../../test/contracts/tile-store-tools.ts';
import { type PipelineHarness, pipelineHarnesses } from '../../test/fixtures/pipeline-harness.ts';
import { encodeImage } from '../raster/encode-image.ts';
import type { SourceResult } from '../sources/tile-source.ts';

const open = pipelineHarnesses();
const DAY = 86_400_000;
const failing = () => Promise.reject(new Error('down'));

/** Moves on when all that was fetched is stored. */
async function later(harness: PipelineHarness, ms: number): Promise<void> {
  await expect.poll(() => harness.pipeline.status().flights).toBe(0);
  harness.clock.advance(ms);
}

/** What a server sends that also says how long it is good. */
function asSent(harness: PipelineHarness, said: object): void {
  harness.source.answer = async (request): Promise<SourceResult> => {
    const drawn = harness.source.draw(request);
    if (drawn.kind !== 'pixels') throw new Error('not drawn');
    const bytes = await encodeImage(drawn, { mediaType: 'image/png24' });
    return { kind: 'encoded', bytes, mediaType: 'image/png', ...said };
  };
}

describe('a tile that is no longer fresh', () => {
  it('an expired tile is answered immediately while it is renewed behind the answer, if the layer says so', async () => {
    const harness = open({ layer: { expireCacheSeconds: 60, staleWhileRevalidateSeconds: 3600 } });
    await harness.read(3, 1, 1);
    await later(harness, 61_000);
    harness.source.version = 2;
    const stale = await harness.read(3, 1, 1);
    expect(stale.outcome).toBe('STALE');
    expect(await harness.shows(stale.bytes, { z: 3, x: 1, y: 1 }, 1)).toBe(true);
    await expect.poll(async () => (await harness.read(3, 1, 1)).outcome).toBe('HIT');
    const renewed = await harness.read(3, 1, 1);
    expect(await harness.shows(renewed.bytes, { z: 3, x: 1, y: 1 }, 2)).toBe(true);
    expect(harness.source.requests).toHaveLength(2);
    expect(harness.source.requests[1]?.priority).toBe('task');
  });

  it('a tile older than staleWhileRevalidate is not answered before it is renewed', async () => {
    const harness = open({ layer: { expireCacheSeconds: 60, staleWhileRevalidateSeconds: 10 } });
    await harness.read(3, 1, 1);
    await later(harness, 71_000);
    expect((await harness.read(3, 1, 1)).outcome).toBe('MISS');
  });

  it('an expired tile is answered when its source fails, for as long as the layer says', async () => {
    const harness = open({ layer: { expireCacheSeconds: 60, staleIfErrorSeconds: 86_400 } });
    await harness.read(3, 1, 1);
    harness.source.answer = failing;
    await later(harness, DAY);
    expect((await harness.read(3, 1, 1)).outcome).toBe('STALE');
    await later(harness, 61_000);
    await expect(harness.read(3, 1, 1)).rejects.toMatchObject({ code: 'source-unavailable' });
  });

  it('a tile of a clock that was ahead is renewed by a request and a seed, though its time is not over', async () => {
    const harness = open({ layer: { expireCacheSeconds: 60 } });
    harness.clock.advance(365 * DAY);
    await harness.read(3, 1, 1);
    await harness.read(3, 5, 5);
    await later(harness, -365 * DAY);
    expect((await harness.read(3, 1, 1)).outcome).toBe('MISS');
    expect(await harness.renew('missing', 3, 5, 5)).toMatchObject({ present: 0 });
    expect((await harness.read(3, 5, 5)).outcome).toBe('HIT');
    // Clocks of nodes differ a little.
    await later(harness, -60_000);
    expect((await harness.read(3, 5, 5)).outcome).toBe('HIT');
  });

  it('a tile stays fresh for a time that depends on its zoom', async () => {
    const layer = {
      expireCacheByZoom: [
        { minZoom: 0, seconds: 0 },
        { minZoom: 3, seconds: 60 },
      ],
    };
    const harness = open({ layer });
    await harness.read(2, 1, 1);
    await harness.read(3, 1, 1);
    await later(harness, 61_000);
    expect((await harness.read(2, 1, 1)).outcome).toBe('HIT');
    expect((await harness.read(3, 1, 1)).outcome).toBe('MISS');
  });
});

describe('a tile that was marked stale', () => {
  it('a tile that was marked stale is renewed by a request, and by a seed', async () => {
    const harness = open();
    await harness.read(3, 1, 1);
    await harness.read(3, 5, 5);
    const everything = { minX: 0, minY: 0, maxX: 7, maxY: 7 };
    await harness.store.edit(harness.tiles.set, 3, everything, { type: 'outdate', at: harness.clock.now() });
    harness.pipeline.forget(harness.tiles.set, 3, everything);
    expect((await harness.read(3, 1, 1)).outcome).toBe('MISS');
    const result = await harness.renew('missing', 3, 5, 5);
    expect(result.made).toBeGreaterThan(0);
    expect((await harness.read(3, 5, 5)).outcome).toBe('HIT');
  });
});

describe('what a server says of its answers', () => {
  it('cache headers of a server decide how long tiles are fresh, if the layer follows them', async () => {
    const harness = open({ layer: { followSource: true } });
    asSent(harness, { freshSeconds: 30 });
    await harness.read(3, 1, 1);
    await later(harness, 29_000);
    expect((await harness.read(3, 1, 1)).outcome).toBe('HIT');
    await later(harness, 1000);
    expect((await harness.read(3, 1, 1)).outcome).toBe('MISS');
  });

  it('cache headers of a server are ignored unless the layer follows them', async () => {
    const harness = open();
    asSent(harness, { freshSeconds: 0 });
    await harness.read(3, 1, 1);
    await later(harness, DAY);
    expect((await harness.read(3, 1, 1)).outcome).toBe('HIT');
  });

  it('a tile that is still the same at the server is renewed without a byte', async () => {
    const harness = open({ layer: { expireCacheSeconds: 60 } });
    asSent(harness, { validator: '"v1"' });
    const first = await harness.read(3, 1, 1);
    await later(harness, 61_000);
    harness.source.answer = (request) =>
      request.validator === '"v1"' ? { kind: 'unchanged', freshSeconds: null } : failing();
    const again = await harness.read(3, 1, 1);
    expect(again.outcome).toBe('HIT');
    expect(again.bytes).toEqual(first.bytes);
    expect(again.createdAt).toBe(harness.clock.now());
    await later(harness, 59_000);
    expect((await harness.read(3, 1, 1)).outcome).toBe('HIT');
    expect(harness.source.requests).toHaveLength(2);
  });

  it('a picture is read in full when a truncation overtakes the answer that it is still the same', async () => {
    const harness = open({ layer: { expireCacheSeconds: 60 } });
    asSent(harness, { validator: '"v1"' });
    await harness.read(3, 1, 1);
    await later(harness, 61_000);
    const { answer } = harness.source;
    harness.source.answer = async (request, attempt) => {
      if (request.validator === null) return answer(request, attempt);
      await raise(harness.store, 'roads');
      await harness.store.drop('roads', null);
      return { kind: 'unchanged', freshSeconds: null };
    };
    const again = await harness.read(3, 1, 1);
    expect(await harness.shows(again.bytes, { z: 3, x: 1, y: 1 })).toBe(true);
    expect(harness.source.requests.map(({ validator }) => validator)).toEqual([null, '"v1"', null]);
    await later(harness, 0);
    // It belongs to a generation that has ended: the next request fetches it again.
    expect(await harness.store.get(harness.tiles.set, { z: 3, x: 1, y: 1 })).toBeNull();
  });

  it('a reseed makes a tile that is removed before the answer that it is still the same', async () => {
    const harness = open({ layer: { metatile: { columns: 2, rows: 2 } } });
    asSent(harness, { validator: '"v1"' });
    await harness.renew('all', 3, 2, 2);
    const { answer } = harness.source;
    harness.source.answer = async (request, attempt) => {
      if (request.validator === null) return answer(request, attempt);
      const rect = { minX: 2, minY: 2, maxX: 2, maxY: 2 };
      await harness.store.edit(harness.tiles.set, 3, rect, { type: 'remove' });
      return { kind: 'unchanged', freshSeconds: null };
    };
    expect(await harness.renew('all', 3, 2, 2)).toMatchObject({ made: 4, present: 0 });
    expect(await harness.store.get(harness.tiles.set, { z: 3, x: 2, y: 2 })).not.toBeNull();
  });

  it('a reseed counts a tile that is still the same at the server as present', async () => {
    const harness = open();
    asSent(harness, { validator: '"v1"' });
    await harness.renew('all', 3, 1, 1);
    harness.source.answer = () => ({ kind: 'unchanged', freshSeconds: null });
    const result = await harness.renew('all', 3, 1, 1);
    expect(result).toMatchObject({ made: 0, bytes: 0, upstreamRequests: 1 });
    expect(result.present).toBeGreaterThan(0);
  });

  it('a conditional request is not sent for a block of which a tile is gone', async () => {
    const harness = open({ layer: { metatile: { columns: 2, rows: 2 } } });
    asSent(harness, { validator: '"v1"' });
    await harness.renew('all', 3, 2, 2);
    await harness.store.edit(
      harness.tiles.set,
      3,
      { minX: 2, minY: 2, maxX: 2, maxY: 2 },
      { type: 'remove' },
    );
    await harness.renew('all', 3, 2, 2);
    expect(harness.source.requests[1]?.validator).toBeNull();
  });
});
