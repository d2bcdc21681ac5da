import { describe, expect, it } from 'vitest';
import { layerNamed, tileResponse } from '../../../test/fixtures/http-app.ts';
import type { BoundLayer } from '../../catalog/catalog.ts';
import type { Clock } from '../../lib/clock.ts';
import { createDeferred } from '../../lib/deferred.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import type { CacheOutcome } from '../../pipeline/tile-pipeline.ts';
import { createTileFront } from './http-process.ts';
import type { TileAsked } from './process-messages.ts';

const TILE = { z: 3, x: 1, y: 2 };
const NOW = Date.UTC(2026, 0, 2, 12);

function open({ stored = true, outcome = 'MISS' as CacheOutcome } = {}) {
  const time = { now: NOW };
  const layer = layerNamed('world');
  const looks = { store: 0, asked: [] as TileAsked[] };
  const store = {
    getNow() {
      looks.store++;
      return stored ? { ...tileResponse(), createdAt: NOW, madeBy: null } : null;
    },
  };
  const source = () => {
    throw new Error('a process asks no source');
  };
  const bound = { layer, store, source } as unknown as BoundLayer;
  const tiles = resolveTileSet(bound, { gridSet: null, format: null, parameters: new Map() });
  const onItsWay: { ready: Promise<void> } = { ready: Promise.resolve() };
  const front = createTileFront({
    memoryTierBytes: 1_000_000,
    clock: { now: () => time.now } as Clock,
    async ask(asked) {
      looks.asked.push(asked);
      await onItsWay.ready;
      return tileResponse({ outcome });
    },
  });
  return { front, tiles, looks, time, onItsWay };
}

describe('a process that answers tiles', () => {
  it('a tile process reads a tile from the store once, and from then on has it in memory', async () => {
    const { front, tiles, looks } = open();
    for (let i = 0; i < 3; i++) expect(await front.read(tiles, TILE)).toMatchObject({ outcome: 'HIT' });
    expect(looks).toEqual({ store: 1, asked: [] });
  });

  it('a tile process requests absent tiles from the primary, and does not keep what was made for it', async () => {
    const { front, tiles, looks } = open({ stored: false });
    for (let i = 0; i < 2; i++) expect(await front.read(tiles, TILE)).toMatchObject({ outcome: 'MISS' });
    expect(looks.asked).toHaveLength(2);
    expect(looks.asked[0]).toMatchObject({ set: { layer: 'world' }, tile: TILE });
    expect(front.takePages()).toEqual([]);
  });

  it('a tile process forgets the tiles of a place in every format, and no others', async () => {
    const { front, tiles, looks } = open();
    await front.read(tiles, TILE);
    const place = { gridSet: tiles.set.gridSet, z: 3, rect: { minX: 0, minY: 0, maxX: 3, maxY: 1 } };
    front.forget({ layer: 'world', places: [place] });
    await front.read(tiles, TILE);
    expect(looks.store).toBe(1);
    front.forget({ layer: 'world', places: [{ ...place, rect: { ...place.rect, maxY: 2 } }] });
    await front.read(tiles, TILE);
    expect(looks.store).toBe(2);
  });

  it('a tile process keeps the tile of the primary, unless it has to forget it before it arrives', async () => {
    const { front, tiles, looks, onItsWay } = open({ stored: false, outcome: 'HIT' });
    for (let i = 0; i < 2; i++) expect(await front.read(tiles, TILE)).toMatchObject({ outcome: 'HIT' });
    expect(looks.asked).toHaveLength(1);
    front.forget({ layer: 'world' });
    const held = createDeferred<void>();
    onItsWay.ready = held.promise;
    const reading = front.read(tiles, TILE);
    front.forget({ layer: 'world' });
    held.resolve();
    await reading;
    await front.read(tiles, TILE);
    expect(looks.asked).toHaveLength(3);
  });

  it('a tile process reads the store again after it had to forget a tile', async () => {
    const { front, tiles, looks } = open();
    await front.read(tiles, TILE);
    front.forget({ set: tiles.set, z: 3, rect: { minX: 0, minY: 0, maxX: 3, maxY: 3 } });
    await front.read(tiles, TILE);
    front.forget({ layer: 'world' });
    await front.read(tiles, TILE);
    expect(looks.store).toBe(3);
  });

  it('a tile process reports how often each page was answered, once', async () => {
    const { front, tiles, time } = open();
    for (let i = 0; i < 3; i++) await front.read(tiles, TILE);
    time.now += 5;
    await front.read(tiles, { ...TILE, x: 3 });
    expect(front.takePages()).toEqual([
      { set: tiles.set, tile: { z: 3, x: 0, y: 0 }, times: 4, at: NOW + 5 },
    ]);
    expect(front.takePages()).toEqual([]);
  });
});
