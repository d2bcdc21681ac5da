import { describe, expect, it } from 'vitest';
import { raise } from '../../test/contracts/tile-store-tools.ts';
import { createGate, until } from '../../test/fixtures/eventually.ts';
import { type PipelineHarness, pipelineHarnesses } from '../../test/fixtures/pipeline-harness.ts';
import { TilewardenError } from '../domain/errors.ts';
import { createGridSubset } from '../domain/grid-subset.ts';

const open = pipelineHarnesses();

const tile = { z: 4, x: 5, y: 6 };

async function storedVersion(harness: PipelineHarness): Promise<number | null> {
  const found = await harness.store.get(harness.tiles.set, tile);
  if (!found) return null;
  for (const version of [1, 2, 3]) if (await harness.shows(found.bytes, tile, version)) return version;
  throw new Error('a tile of no known version');
}

describe('renewing a metatile', () => {
  it('renewing a metatile makes missing tiles and counts exactly', async () => {
    const harness = open();
    const result = await harness.renew('missing', 4, 5, 6);
    expect(result).toMatchObject({ made: 16, present: 0, blank: 0, upstreamRequests: 1 });
    expect(result.bytes).toBeGreaterThan(0);
    expect(harness.source.requests[0]?.priority).toBe('task');
    expect(await harness.renew('missing', 4, 5, 6)).toEqual({
      made: 0,
      present: 16,
      blank: 0,
      bytes: 0,
      upstreamRequests: 0,
    });
    expect(harness.source.requests).toHaveLength(1);
  });

  it('renewing a metatile counts only requested tiles, some present and some blank', async () => {
    const harness = open();
    harness.source.answer = ({ width, height }) => {
      return { kind: 'pixels', width, height, pixels: Buffer.alloc(width * height * 4, 200) };
    };
    await harness.renew('all', 4, 5, 6);
    await harness.store.edit(
      harness.tiles.set,
      4,
      { minX: 5, minY: 4, maxX: 7, maxY: 7 },
      { type: 'remove' },
    );
    const metatile = harness.source.requests[0]?.metatile;
    if (!metatile) throw new Error('nothing was asked');
    const within = { minX: 0, minY: 4, maxX: 5, maxY: 5 };
    const { signal } = new AbortController();
    const result = await harness.pipeline.renew({
      tiles: harness.tiles,
      metatile,
      within,
      mode: 'missing',
      signal,
    });
    expect(result).toMatchObject({ made: 2, present: 2, blank: 2, upstreamRequests: 1 });
  });

  it('renewing a metatile notes with each tile which task made it, or that a client requested it', async () => {
    const harness = open();
    const makerOf = async (x: number) => (await harness.store.get(harness.tiles.set, { ...tile, x }))?.madeBy;
    await harness.read(4, 5, 6);
    await until(() => harness.pipeline.status().flights === 0);
    expect(await makerOf(4)).toBe(0);
    await harness.renew('missing', 4, 5, 6, undefined, 11);
    expect(await makerOf(5)).toBe(0);
    await harness.renew('all', 4, 5, 6, undefined, 12);
    expect(await Promise.all([4, 5, 6, 7].map(makerOf))).toEqual([12, 12, 12, 12]);
  });

  it('renewing a metatile makes expired tiles again', async () => {
    const harness = open({ layer: { expireCacheSeconds: 60 } });
    await harness.renew('missing', 4, 5, 6);
    harness.clock.advance(60_001);
    harness.source.version = 2;
    expect(await harness.renew('missing', 4, 5, 6)).toMatchObject({ made: 16, present: 0 });
    expect(await storedVersion(harness)).toBe(2);
  });

  it('a renewal of everything replaces all tiles, also in the memory tier', async () => {
    const harness = open();
    await harness.read(4, 5, 6);
    await until(() => harness.pipeline.status().flights === 0);
    harness.source.version = 2;
    expect(await harness.renew('all', 4, 5, 6)).toMatchObject({ made: 16, present: 0 });
    const answer = await harness.read(4, 5, 6);
    expect(answer.outcome).toBe('HIT');
    expect(await harness.shows(answer.bytes, tile, 2)).toBe(true);
  });

  it('renewing a metatile stores nothing outside the layer', async () => {
    const { gridSet } = open().tiles.subset;
    const extent = { minX: gridSet.extent.minX, minY: 0, maxX: 0, maxY: gridSet.extent.maxY };
    const harness = open({ layer: { gridSubsets: [createGridSubset(gridSet, { extent })] } });
    expect(await harness.renew('all', 2, 0, 0)).toMatchObject({ made: 4 });
    const { minX, minY, maxX, maxY } = harness.source.requests[0]?.metatile.rect ?? {};
    expect([minX, minY, maxX, maxY]).toEqual([0, 0, 1, 1]);
  });

  it('renewing a metatile is not satisfied by a fetch that began before it, which then is not kept', async () => {
    const harness = open();
    const gate = createGate();
    harness.source.answer = async (request) => {
      const answer = harness.source.draw(request);
      await gate.opened;
      return answer;
    };
    const reading = harness.read(4, 5, 6);
    await until(() => harness.source.requests.length === 1);
    harness.source.version = 2;
    const renewing = harness.renew('all', 4, 5, 6);
    await until(() => harness.source.requests.length === 2);
    gate.open();
    expect(await harness.shows((await reading).bytes, tile, 1)).toBe(true);
    expect(await renewing).toMatchObject({ made: 16, upstreamRequests: 1 });
    await until(() => harness.pipeline.status().flights === 0);
    expect(await storedVersion(harness)).toBe(2);
  });

  it('renewing a metatile shares its fetch with readers, and joins theirs', async () => {
    const harness = open();
    const gate = createGate();
    harness.source.answer = async (request) => {
      await gate.opened;
      return harness.source.draw(request);
    };
    const renewing = harness.renew('all', 4, 5, 6);
    await until(() => harness.source.requests.length === 1);
    const reading = harness.read(4, 5, 6);
    await until(() => harness.pipeline.status().waitingReads === 1);
    const seeding = harness.renew('missing', 4, 5, 6);
    // By now an unhindered read has come all the way.
    await open().read(4, 5, 6);
    gate.open();
    expect((await reading).outcome).toBe('MISS');
    expect(await renewing).toMatchObject({ made: 16, upstreamRequests: 1 });
    expect(await seeding).toMatchObject({ made: 16, bytes: 0, upstreamRequests: 0 });
    expect(harness.source.requests).toHaveLength(1);
  });

  it('renewing a metatile is not mistaken for another metatile when its size is no longer the layer’s', async () => {
    const harness = open();
    const gate = createGate();
    harness.source.answer = async (request) => {
      await gate.opened;
      return harness.source.draw(request);
    };
    const rect = { minX: 2, minY: 2, maxX: 3, maxY: 3 };
    const metatile = { z: 4, column: 1, row: 1, rect };
    const { signal } = new AbortController();
    const renewing = harness.pipeline.renew({
      tiles: harness.tiles,
      metatile,
      within: rect,
      mode: 'all',
      signal,
    });
    await until(() => harness.source.requests.length === 1);
    const reading = harness.read(4, 5, 6);
    await until(() => harness.source.requests.length === 2);
    gate.open();
    expect(await renewing).toMatchObject({ made: 4 });
    expect(await harness.shows((await reading).bytes, tile)).toBe(true);
  });

  it('renewing the same metatile twice concurrently satisfies both', async () => {
    const harness = open();
    const results = await Promise.all([1, 2, 3].map(() => harness.renew('all', 4, 5, 6)));
    for (const result of results) expect(result).toMatchObject({ made: 16, present: 0 });
  });

  it('renewing a metatile fetches again what a truncation has overtaken', async () => {
    const harness = open();
    harness.source.answer = async (request, number) => {
      const answer = harness.source.draw(request);
      harness.source.version = 2;
      if (number === 0) await raise(harness.store, 'roads');
      return answer;
    };
    expect(await harness.renew('all', 4, 5, 6)).toMatchObject({ made: 16, upstreamRequests: 2 });
    expect(await storedVersion(harness)).toBe(2);
  });

  it('renewing a metatile gives up when truncations never end', async () => {
    const harness = open();
    harness.source.answer = async (request) => {
      await raise(harness.store, 'roads');
      return harness.source.draw(request);
    };
    await expect(harness.renew('all', 4, 5, 6)).rejects.toMatchObject({ code: 'generation-stale' });
    expect(harness.source.requests).toHaveLength(3);
  });

  it('renewing a metatile reports failures of source and store, and retries immediately on request', async () => {
    const harness = open();
    harness.source.answer = async () => {
      throw new TilewardenError('source-bad-answer', 'Not an image.', { reason: 'html' });
    };
    await expect(harness.renew('missing', 4, 5, 6)).rejects.toMatchObject({ reason: 'html' });
    harness.source.answer = harness.source.draw;
    harness.store.put = async () => {
      throw new TilewardenError('store-full', 'The disk is full.');
    };
    await expect(harness.renew('missing', 4, 5, 6)).rejects.toMatchObject({ code: 'store-full' });
  });

  it('a renewal that is aborted stops, and none of its tiles is stored', async () => {
    const harness = open();
    const gate = createGate();
    harness.source.answer = async (request) => {
      await gate.opened;
      return harness.source.draw(request);
    };
    const stop = new AbortController();
    const renewing = harness.renew('all', 4, 5, 6, stop.signal);
    await until(() => harness.source.requests.length === 1);
    stop.abort(new Error('killed'));
    await expect(renewing).rejects.toThrow('killed');
    expect(harness.source.requests[0]?.signal.aborted).toBe(true);
    gate.open();
    await until(() => harness.pipeline.status().flights === 0);
    expect(await storedVersion(harness)).toBeNull();
  });
});
