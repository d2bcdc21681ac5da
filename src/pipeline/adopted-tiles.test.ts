import { describe, expect, it } from 'vitest';
import { raise } from '../../test/contracts/tile-store-tools.ts';
import { until } from '../../test/fixtures/eventually.ts';
import { photoLike } from '../../test/fixtures/pictures.ts';
import { type PipelineHarness, pipelineHarnesses, TILE_SIZE } from '../../test/fixtures/pipeline-harness.ts';
import { TilewardenError } from '../domain/errors.ts';
import { formatOf } from '../domain/format.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { encodeImage } from '../raster/encode-image.ts';
import type { OldCache } from '../sources/old-cache.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';

const open = pipelineHarnesses();

const PNG = await encodeImage(photoLike(TILE_SIZE, TILE_SIZE), { mediaType: 'image/png' });
const JPEG = await encodeImage(photoLike(TILE_SIZE, TILE_SIZE), { mediaType: 'image/jpeg' });
const LONG_AGO = Date.UTC(2020, 0, 1);

interface ScriptedCache extends OldCache {
  readonly asked: TileIndex[];
  files: Map<string, Buffer>;
  failing: boolean;
}

function oldCache(...places: readonly (readonly [string, Buffer])[]): ScriptedCache {
  const cache: ScriptedCache = {
    asked: [],
    files: new Map(places),
    failing: false,
    async read({ tile }) {
      cache.asked.push(tile);
      if (cache.failing) throw new TilewardenError('store-failed', 'Away.');
      const bytes = cache.files.get(`${tile.z}/${tile.x}/${tile.y}`);
      return bytes ? { bytes, changedAt: LONG_AGO } : null;
    },
    async close() {},
  };
  return cache;
}

/** What a bad disk makes of it: a run of bytes in its middle is inverted. */
function damaged(bytes: Buffer): Buffer {
  const middle = bytes.length >> 1;
  return Buffer.from(bytes.map((byte, at) => (at >= middle && at < middle + 8 ? byte ^ 0xff : byte)));
}

async function stored(harness: PipelineHarness, z: number, x: number, y: number): Promise<boolean> {
  return (await harness.store.get(harness.tiles.set, { z, x, y })) !== null;
}

describe('a tile that only the adopted cache has', () => {
  it('an adopted tile is a hit, is copied into the store and not looked up again, without a request', async () => {
    const cache = oldCache(['3/5/2', PNG]);
    const harness = open({ oldCache: cache });
    const answer = await harness.read(3, 5, 2);
    expect(answer).toMatchObject({ bytes: PNG, outcome: 'HIT', createdAt: LONG_AGO });
    expect(await stored(harness, 3, 5, 2)).toBe(false);
    await until(() => harness.clock.sleepers > 0);
    harness.clock.advance(1000);
    await until(() => harness.events.some(({ type }) => type === 'stored'));
    expect(await stored(harness, 3, 5, 2)).toBe(true);
    expect(await harness.read(3, 5, 2)).toMatchObject({ bytes: PNG, outcome: 'HIT' });
    expect([cache.asked.length, harness.source.requests.length]).toEqual([1, 0]);
    expect(harness.counts.get('tiles_adopted_total')).toBe(1);
  });

  it('an adopted tile is copied when the pipeline closes', async () => {
    const harness = open({ oldCache: oldCache(['3/5/2', PNG]) });
    await harness.read(3, 5, 2);
    await harness.close();
    expect(await stored(harness, 3, 5, 2)).toBe(true);
  });

  it.each([
    ['cut off', PNG.subarray(0, -20)],
    ['of another kind', JPEG],
    ['a page with an error', Buffer.from('<html>not found</html>')],
  ])('an adopted tile is fetched from the source when its file is %s', async (_, bytes) => {
    const harness = open({ oldCache: oldCache(['3/5/2', bytes]) });
    const answer = await harness.read(3, 5, 2);
    expect([answer.outcome, await harness.shows(answer.bytes, { z: 3, x: 5, y: 2 })]).toEqual(['MISS', true]);
    expect(harness.warnings).toEqual([]);
  });

  it.each([
    ['image/png', damaged],
    ['image/jpeg', damaged],
    ['image/gif', damaged],
    // Nothing in a WebP shows that a byte is another one.
    ['image/webp', (whole: Buffer) => whole.subarray(0, -60)],
  ])('an adopted tile is neither served nor copied when its %s is damaged', async (mediaType, damage) => {
    const format = formatOf(mediaType);
    if (!format) throw new Error(`no ${mediaType}`);
    const whole = await encodeImage(photoLike(TILE_SIZE, TILE_SIZE), { mediaType });
    const cache = oldCache(['3/5/2', damage(whole)], ['3/5/3', whole]);
    const harness = open({ oldCache: cache, layer: { formats: [format] } });
    expect((await harness.read(3, 5, 3)).outcome).toBe('HIT');
    expect((await harness.read(3, 5, 2)).outcome).toBe('MISS');
    expect(harness.counts.get('tiles_adopted_total')).toBe(1);
  });

  it('an adopted tile is fetched when a chunk of its PNG has a wrong checksum but readable pixels', async () => {
    const spoilt = Buffer.from(PNG);
    const checksumAt = spoilt.length - 12 - 1;
    spoilt.writeUInt8(spoilt.readUInt8(checksumAt) ^ 0xff, checksumAt);
    const harness = open({ oldCache: oldCache(['3/5/2', spoilt]) });
    expect((await harness.read(3, 5, 2)).outcome).toBe('MISS');
  });

  it('an adopted tile is fetched when its image has far more pixels than a tile', async () => {
    const huge = await encodeImage(photoLike(4 * TILE_SIZE, 4 * TILE_SIZE), { mediaType: 'image/png' });
    const harness = open({ oldCache: oldCache(['3/5/2', huge]) });
    expect((await harness.read(3, 5, 2)).outcome).toBe('MISS');
  });

  it('an adopted tile is fetched when its JPEG ends too early', async () => {
    const jpeg = formatOf('image/jpeg');
    if (!jpeg) throw new Error('no JPEG');
    const whole = open({ oldCache: oldCache(['3/5/2', JPEG]), layer: { formats: [jpeg] } });
    expect((await whole.read(3, 5, 2)).outcome).toBe('HIT');
    const torn = open({ oldCache: oldCache(['3/5/2', JPEG.subarray(0, -300)]), layer: { formats: [jpeg] } });
    expect((await torn.read(3, 5, 2)).outcome).toBe('MISS');
  });

  it('an adopted tile may be JPEG or PNG if the layer has a mixture of both', async () => {
    const mixture = formatOf('image/vnd.jpeg-png');
    if (!mixture) throw new Error('no mixture');
    const harness = open({
      oldCache: oldCache(['3/5/2', JPEG], ['3/5/3', PNG]),
      layer: { formats: [mixture] },
    });
    expect([(await harness.read(3, 5, 2)).bytes, (await harness.read(3, 5, 3)).bytes]).toEqual([JPEG, PNG]);
  });

  it('an adopted tile is hidden for good by a truncation of its place, and only of its place', async () => {
    const cache = oldCache(['3/5/2', PNG], ['3/1/1', PNG]);
    const harness = open({ oldCache: cache });
    const place = { gridSet: harness.tiles.set.gridSet, z: 3, rect: { minX: 4, minY: 0, maxX: 7, maxY: 7 } };
    await raise(harness.store, 'roads', [place]);
    expect((await harness.read(3, 5, 2)).outcome).toBe('MISS');
    expect((await harness.read(3, 1, 1)).outcome).toBe('HIT');
    expect(cache.asked).toEqual([{ z: 3, x: 1, y: 1 }]);
    const renewed = await harness.renew('missing', 3, 3, 3);
    expect(renewed.upstreamRequests).toBe(1);
  });

  it('an adopted tile is not stored by a copy that a truncation has overtaken', async () => {
    const harness = open({ oldCache: oldCache(['3/5/2', PNG]) });
    await harness.read(3, 5, 2);
    await raise(harness.store, 'roads');
    await harness.close();
    expect(await stored(harness, 3, 5, 2)).toBe(false);
    expect(harness.warnings).toEqual([]);
  });

  it('an adopted tile is as old as its file', async () => {
    const harness = open({ oldCache: oldCache(['3/5/2', PNG]), layer: { expireCacheSeconds: 3600 } });
    expect((await harness.read(3, 5, 2)).outcome).toBe('MISS');
    const away = open({
      oldCache: oldCache(['3/5/2', PNG]),
      layer: { expireCacheSeconds: 3600, staleIfErrorSeconds: 1e9 },
    });
    away.source.answer = () => {
      throw new TilewardenError('source-unavailable', 'Away.');
    };
    expect(await away.read(3, 5, 2)).toMatchObject({ outcome: 'STALE', bytes: PNG });
    await away.close();
    expect(await stored(away, 3, 5, 2)).toBe(false);
  });

  it('an adopted tile is fetched, with a warning, when the adopted cache cannot be read', async () => {
    const cache = oldCache(['3/5/2', PNG]);
    cache.failing = true;
    const harness = open({ oldCache: cache });
    expect((await harness.read(3, 5, 2)).outcome).toBe('MISS');
    expect(harness.warnings).toEqual([
      'the adopted cache of layer roads cannot be read; tiles are fetched from its source',
    ]);
  });
});

describe('a seed', () => {
  const block = [4, 5, 6, 7].flatMap((x) => [0, 1, 2, 3].map((y) => [`3/${x}/${y}`, PNG] as const));

  it('a seed copies adopted tiles without a request to the source', async () => {
    const harness = open({ oldCache: oldCache(...block) });
    const result = await harness.renew('missing', 3, 5, 2);
    expect(result).toEqual({ made: 0, present: 16, blank: 0, bytes: 16 * PNG.length, upstreamRequests: 0 });
    expect(harness.source.requests).toEqual([]);
    expect(await stored(harness, 3, 7, 3)).toBe(true);
    expect(harness.events).toContainEqual(
      expect.objectContaining({
        type: 'stored',
        tiles: 16,
        rect: { minX: 4, minY: 0, maxX: 7, maxY: 3 },
      }),
    );
  });

  it('a seed fetches the metatile when one of its tiles is missing in the adopted cache', async () => {
    const harness = open({ oldCache: oldCache(...block.slice(1)) });
    expect(await harness.renew('missing', 3, 5, 2)).toMatchObject({
      made: 1,
      present: 15,
      upstreamRequests: 1,
    });
  });

  it('a reseed does not read the adopted cache', async () => {
    const cache = oldCache(...block);
    const harness = open({ oldCache: cache });
    expect(await harness.renew('all', 3, 5, 2)).toMatchObject({ made: 16, upstreamRequests: 1 });
    expect(cache.asked).toEqual([]);
  });

  it('a seed whose copy is overtaken by a truncation fetches the tiles from the source', async () => {
    const store = createMemoryStore({ type: 'memory' });
    const overtaken: typeof store = {
      ...store,
      async put(set, z, tiles, ticket) {
        if (ticket === 0) await raise(store, 'roads');
        return store.put(set, z, tiles, ticket);
      },
    };
    const harness = open({ oldCache: oldCache(...block), store: overtaken });
    expect(await harness.renew('missing', 3, 5, 2)).toMatchObject({
      made: 16,
      present: 0,
      upstreamRequests: 1,
    });
  });
});
