import { describe, expect, it } from 'vitest';
import { acceptImage } from '../../test/fixtures/pictures.ts';
import { type PipelineHarness, pipelineHarnesses, TILE_SIZE } from '../../test/fixtures/pipeline-harness.ts';
import { formatOf } from '../domain/format.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import { createMapComposer } from './map-composer.ts';
import { createLayerReader } from './open-layer-source.ts';

const open = pipelineHarnesses();
const NOT_CACHED = { code: 'tile-not-cached' };

async function expire(harness: PipelineHarness, seconds: number): Promise<void> {
  await harness.renew('all', 4, 5, 6);
  harness.clock.advance(seconds * 1000);
}

describe('a layer with onMiss: not-found', () => {
  const onMiss = 'not-found';

  it('a layer with onMiss: not-found serves only tiles that a task has cached, and never asks its source', async () => {
    const harness = open({ layer: { onMiss } });
    await expect(harness.read(4, 5, 6)).rejects.toMatchObject(NOT_CACHED);
    expect(harness.source.requests).toHaveLength(0);
    await harness.renew('all', 4, 5, 6);
    expect((await harness.read(4, 5, 6)).outcome).toBe('HIT');
    await expect(harness.read(4, 9, 9)).rejects.toMatchObject(NOT_CACHED);
    expect(harness.source.requests).toHaveLength(1);
  });

  it.each([
    ['as long as staleIfError', { staleIfErrorSeconds: 100 }],
    ['as long as staleWhileRevalidate', { staleIfErrorSeconds: 0, staleWhileRevalidateSeconds: 100 }],
  ])('onMiss: not-found serves an expired tile as stale %s says, without renewal', async (_case, times) => {
    const harness = open({ layer: { onMiss, expireCacheSeconds: 10, ...times } });
    await expire(harness, 50);
    expect((await harness.read(4, 5, 6)).outcome).toBe('STALE');
    harness.clock.advance(100_000);
    await expect(harness.read(4, 5, 6)).rejects.toMatchObject(NOT_CACHED);
    expect(harness.source.requests).toHaveLength(1);
  });

  it('a layer with onMiss: not-found reports an unreadable store instead of a missing tile', async () => {
    const fail = async () => {
      throw new Error('disk');
    };
    const store = { ...createMemoryStore({ type: 'memory' }), get: fail };
    const harness = open({ layer: { onMiss }, store });
    await expect(harness.read(4, 5, 6)).rejects.toMatchObject({ code: 'store-failed' });
  });

  it('a layer with onMiss: not-found serves cached=false from the source if cacheBypass allows it', async () => {
    const harness = open({ layer: { onMiss, cacheBypass: true } });
    const tiles = { ...harness.tiles, bypass: true as const };
    expect((await harness.pipeline.read(tiles, { z: 4, x: 5, y: 6 })).outcome).toBe('BYPASS');
  });
});

describe('a layer with onMiss: parent', () => {
  const onMiss = 'parent';

  it('a layer with onMiss: parent stretches the nearest cached ancestor, and does not keep the result', async () => {
    const harness = open({ layer: { onMiss, metatile: { columns: 1, rows: 1 } } });
    await harness.renew('all', 2, 1, 1);
    await harness.renew('all', 3, 2, 3);
    const answer = await harness.read(5, 9, 14);
    expect(answer).toMatchObject({ outcome: 'MISS', standIn: true });
    const parent = await pixelsOf((await harness.read(3, 2, 3)).bytes);
    const stretched = await pixelsOf(answer.bytes);
    // Tile 9,14 is the second of four columns and the third of four rows of its grandparent.
    const middle = TILE_SIZE / 8;
    expect(near(stretched(32, 32), parent(16 + middle, 32 + middle))).toBe(true);
    expect(await harness.store.get(harness.tiles.set, { z: 5, x: 9, y: 14 })).toBeNull();
    expect(harness.source.requests).toHaveLength(2);
  });

  it('a layer with onMiss: parent has no tile whose next four ancestors are not cached', async () => {
    const harness = open({ layer: { onMiss, metatile: { columns: 1, rows: 1 } } });
    await harness.renew('all', 1, 0, 0);
    expect((await harness.read(5, 3, 3)).outcome).toBe('MISS');
    await expect(harness.read(6, 3, 3)).rejects.toMatchObject(NOT_CACHED);
  });

  it('a layer with onMiss: parent serves an expired ancestor as stale', async () => {
    const harness = open({ layer: { onMiss, expireCacheSeconds: 10 } });
    await expire(harness, 50);
    expect(await harness.read(5, 10, 12)).toMatchObject({ outcome: 'STALE', standIn: true });
  });

  it('a layer with onMiss: parent has no stretched vector tiles', async () => {
    const vector = formatOf('application/vnd.mapbox-vector-tile');
    if (!vector) throw new Error('no vector tiles');
    const harness = open({ layer: { onMiss, formats: [vector] } });
    await expect(harness.read(5, 10, 12)).rejects.toMatchObject(NOT_CACHED);
  });

  it('a layer with onMiss: parent gives no stretched tile to a layer that is made from it', async () => {
    const harness = open({ layer: { onMiss } });
    await harness.renew('all', 4, 5, 6);
    const layer = createLayerReader(harness.pipeline)(harness.tiles.bound);
    const request = {
      parameters: new Map(),
      priority: 'interactive' as const,
      signal: AbortSignal.timeout(60_000),
    };
    const read = (z: number, x: number, y: number) => layer?.tile(harness.tiles.subset, { z, x, y }, request);
    await expect(read(4, 5, 6)).resolves.toBeDefined();
    await expect(read(5, 10, 12)).rejects.toMatchObject(NOT_CACHED);
  });

  it('a composed map reports that tiles of it are stretched', async () => {
    const harness = open({ layer: { onMiss, fullWms: true } });
    await harness.renew('all', 0, 0, 0);
    const composer = createMapComposer(harness.pipeline);
    const { extent } = harness.tiles.subset;
    const { format } = harness.tiles;
    const size = { width: 4 * TILE_SIZE, height: 4 * TILE_SIZE };
    const signal = AbortSignal.timeout(60_000);
    const request = { layers: [harness.tiles], bounds: extent, ...size, format, background: null, signal };
    expect(await composer.compose(request)).toMatchObject({ outcome: 'MISS', standIn: true, zoom: 2 });
  });
});

async function pixelsOf(bytes: Buffer): Promise<(x: number, y: number) => readonly number[]> {
  const { pixels } = await acceptImage(bytes, null, TILE_SIZE, TILE_SIZE);
  return (x, y) => [...pixels.subarray((y * TILE_SIZE + x) * 4, (y * TILE_SIZE + x) * 4 + 4)];
}

function near(a: readonly number[], b: readonly number[]): boolean {
  return a.every((value, index) => Math.abs(value - (b[index] ?? 0)) <= 16);
}
