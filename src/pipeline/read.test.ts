import { describe, expect, it } from 'vitest';
import { createGate, until } from '../../test/fixtures/eventually.ts';
import {
  openPipelineHarness,
  type PipelineHarness,
  pipelineHarnesses,
} from '../../test/fixtures/pipeline-harness.ts';
import { TilewardenError } from '../domain/errors.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';

const open = pipelineHarnesses();

const unavailable = () => new TilewardenError('source-unavailable', 'The map source cannot be reached.');

function hold(harness: PipelineHarness) {
  const gate = createGate();
  harness.source.answer = async (request) => {
    await gate.opened;
    return harness.source.draw(request);
  };
  return gate;
}

describe('a tile that is at hand', () => {
  const place = { z: 4, x: 5, y: 6 };

  it('a tile comes without a promise from memory', async () => {
    const harness = open();
    await harness.read(4, 5, 6);
    await until(() => harness.pipeline.status().flights === 0);
    expect(harness.pipeline.read(harness.tiles, place)).toMatchObject({ outcome: 'HIT' });
  });

  it('a tile comes without a promise from a synchronous store, and is in memory then', async () => {
    const store = createMemoryStore({ type: 'memory' });
    let looks = 0;
    const stored = { createdAt: 0, checksum: 1, freshUntil: null, madeBy: null, bytes: Buffer.from('tile') };
    const get = () => {
      looks++;
      return stored;
    };
    const harness = open({ store: { ...store, get: get as unknown as typeof store.get } });
    const first = harness.pipeline.read(harness.tiles, place);
    expect(first).toMatchObject({ outcome: 'HIT', bytes: stored.bytes });
    expect(harness.pipeline.read(harness.tiles, place)).toBe(first);
    expect(looks).toBe(1);
    expect(harness.events.filter(({ type }) => type === 'served')).toHaveLength(2);
    await expect(harness.read(4, 99, 0)).rejects.toMatchObject({ code: 'tile-outside' });
  });

  it('a tile is read again if the store cannot answer synchronously', async () => {
    const store = createMemoryStore({ type: 'memory' });
    const get: typeof store.get = async (...args) => store.get(...args);
    const harness = open({ store: { ...store, get }, settings: { memoryTierBytes: 0 } });
    expect((await harness.read(4, 5, 6)).outcome).toBe('MISS');
    await until(() => harness.pipeline.status().flights === 0);
    expect((await harness.read(4, 5, 6)).outcome).toBe('HIT');
  });

  it("a tile comes from its store's copies on this machine while the database is away", async () => {
    const harness = open({ settings: { memoryTierBytes: 0 } });
    await harness.read(4, 5, 6);
    await until(() => harness.pipeline.status().flights === 0);
    harness.pipeline.guardCopies({ isCurrent: () => false, isAway: () => true, mayShow: async () => true });
    expect((await harness.read(4, 5, 6)).outcome).toBe('HIT');
  });
});

describe('reading a tile', () => {
  it('a missing tile is fetched once and comes from the cache afterwards', async () => {
    const harness = open();
    const first = await harness.read(4, 5, 6);
    await until(() => harness.pipeline.status().flights === 0);
    const second = await harness.read(4, 5, 6);
    expect([first.outcome, second.outcome]).toEqual(['MISS', 'HIT']);
    expect(second.bytes.equals(first.bytes)).toBe(true);
    expect(second.checksum).toBe(first.checksum);
    expect(await harness.shows(first.bytes, { z: 4, x: 5, y: 6 })).toBe(true);
    expect(harness.source.requests).toHaveLength(1);
  });

  it('a missing tile brings its neighbours of the same metatile into the store', async () => {
    const harness = open();
    await harness.read(4, 5, 6);
    await until(() => harness.pipeline.status().flights === 0);
    const neighbour = await harness.read(4, 7, 7);
    expect(neighbour.outcome).toBe('HIT');
    expect(await harness.shows(neighbour.bytes, { z: 4, x: 7, y: 7 })).toBe(true);
    expect(harness.source.requests).toHaveLength(1);
  });

  it('a missing tile is answered as soon as it is encoded, before the metatile is stored', async () => {
    const harness = open();
    const gate = createGate();
    const { put } = harness.store;
    harness.store.put = async (...args) => {
      await gate.opened;
      return await put(...args);
    };
    const answer = await harness.read(4, 5, 6);
    expect(answer.outcome).toBe('MISS');
    expect(await harness.store.get(harness.tiles.set, { z: 4, x: 5, y: 6 })).toBeNull();
    gate.open();
    await until(() => harness.pipeline.status().flights === 0);
    expect(await harness.store.get(harness.tiles.set, { z: 4, x: 5, y: 6 })).not.toBeNull();
  });

  it('a metatile that is still being stored answers its other tiles', async () => {
    const harness = open();
    const gate = createGate();
    const { put } = harness.store;
    harness.store.put = async (...args) => {
      await gate.opened;
      return await put(...args);
    };
    await harness.read(4, 5, 6);
    const neighbour = await harness.read(4, 4, 4);
    expect(await harness.shows(neighbour.bytes, { z: 4, x: 4, y: 4 })).toBe(true);
    expect(harness.source.requests).toHaveLength(1);
    gate.open();
  });

  it('a fetch waits when too many earlier ones of its source are still being stored', async () => {
    const harness = open({ settings: { maxFetchesPerSource: 1 } });
    const gate = createGate();
    const { put } = harness.store;
    harness.store.put = async (...args) => {
      await gate.opened;
      return await put(...args);
    };
    await harness.read(4, 0, 0);
    let answered = false;
    const second = harness.read(4, 8, 8).then(() => {
      answered = true;
    });
    // By now an unhindered read has come all the way.
    await open().read(4, 8, 8);
    expect(answered).toBe(false);
    gate.open();
    await second;
  });

  it('a tile outside the layer is refused with what is inside, without a request', async () => {
    const harness = open();
    await expect(harness.read(2, 4, 0)).rejects.toThrow(
      /tile 4,0 at zoom 2; columns are 0 to 3, rows 0 to 3/,
    );
    await expect(harness.read(10, 0, 0)).rejects.toThrow(/zoom 10; it has zooms 0 to 9/);
    expect(harness.source.requests).toHaveLength(0);
  });

  it('a missing tile is looked up again before it is fetched: it may have been stored since', async () => {
    const harness = open({ settings: { memoryTierBytes: 0 } });
    const gate = createGate();
    const { get } = harness.store;
    harness.store.get = async (...args) => {
      const found = await get(...args);
      await gate.opened;
      return found;
    };
    const late = harness.read(4, 5, 6);
    harness.store.get = get;
    await harness.renew('all', 4, 5, 6);
    gate.open();
    expect((await late).outcome).toBe('HIT');
    expect(harness.source.requests).toHaveLength(1);
  });

  it('events of a read report what was served and stored', async () => {
    const harness = open();
    await harness.read(4, 5, 6);
    await until(() => harness.pipeline.status().flights === 0);
    const [stored] = harness.events.filter(({ type }) => type === 'stored');
    expect(stored).toMatchObject({ z: 4, rect: { minX: 4, minY: 4, maxX: 7, maxY: 7 }, tiles: 16 });
    expect(harness.events.filter(({ type }) => type === 'served')).toHaveLength(1);
  });

  it('a source is asked for no more than it can answer in one request', async () => {
    const harness = open({ maxMetatile: { columns: 1, rows: 1 }, layer: { gutter: 10 } });
    const { bytes } = await harness.read(4, 5, 6);
    const [request] = harness.source.requests;
    expect([request?.width, request?.height]).toEqual([64, 64]);
    expect(await harness.shows(bytes, { z: 4, x: 5, y: 6 })).toBe(true);
  });

  it('the gutter of a metatile is cut away', async () => {
    const harness = open({ layer: { gutter: 10 } });
    const { bytes } = await harness.read(4, 5, 6);
    expect(harness.source.requests[0]?.width).toBe(4 * 64 + 20);
    expect(await harness.shows(bytes, { z: 4, x: 5, y: 6 })).toBe(true);
  });
});

describe('200 readers of one missing tile', () => {
  const readers = (harness: PipelineHarness) => Array.from({ length: 200 }, () => harness.read(4, 5, 6));

  it('200 readers of one missing tile cost one request to a healthy source', async () => {
    const harness = open();
    const answers = await Promise.all(readers(harness));
    expect(new Set(answers.map(({ checksum }) => checksum)).size).toBe(1);
    expect(harness.source.requests).toHaveLength(1);
  });

  it('200 readers of one missing tile cost one request to a failing source, and share its failure', async () => {
    const harness = open();
    harness.source.answer = async () => {
      throw unavailable();
    };
    const results = await Promise.allSettled(readers(harness));
    expect(results.every((result) => result.status === 'rejected')).toBe(true);
    expect(harness.source.requests).toHaveLength(1);
    expect(harness.warnings).toEqual(['the source of layer roads failed: source-unavailable']);
  });

  it('an unexpected failure of a source is in the log', async () => {
    const harness = open();
    harness.source.answer = async () => null as never;
    await expect(harness.read(3, 1, 1)).rejects.toThrow();
    expect(harness.warnings).toEqual(['tiles of layer roads could not be made: unexpected failure']);
  });

  it('200 readers cost one request to a source that hangs, and are all answered at the deadline', async () => {
    const harness = open();
    harness.source.answer = () => new Promise(() => {});
    const results = Promise.allSettled(readers(harness));
    await until(() => harness.pipeline.status().waitingReads === 200 && harness.source.requests.length === 1);
    harness.clock.advance(60_000);
    for (const result of await results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'source-timeout' } });
    }
    expect(harness.source.requests).toHaveLength(1);
    expect(harness.source.requests[0]?.signal.aborted).toBe(true);
    expect(harness.pipeline.status().waitingReads).toBe(0);
  });

  it('200 readers may be spread over the tiles of one metatile', async () => {
    const harness = open();
    const places = Array.from({ length: 200 }, (_, i) => ({ z: 4, x: 4 + (i % 4), y: 4 + ((i >> 2) % 4) }));
    const answers = await Promise.all(places.map(({ z, x, y }) => harness.read(z, x, y)));
    for (const [i, place] of places.slice(0, 16).entries()) {
      expect(await harness.shows(answers[i]?.bytes ?? Buffer.alloc(0), place)).toBe(true);
    }
    expect(harness.source.requests).toHaveLength(1);
  });
});

describe('a metatile that failed', () => {
  it('a failed metatile answers the same for a moment without a request, and then is requested again', async () => {
    const harness = open();
    harness.source.answer = async () => {
      throw unavailable();
    };
    await expect(harness.read(4, 5, 6)).rejects.toMatchObject({ code: 'source-unavailable' });
    harness.clock.advance(499);
    await expect(harness.read(4, 4, 4)).rejects.toMatchObject({ code: 'source-unavailable' });
    expect(harness.source.requests).toHaveLength(1);
    harness.source.answer = harness.source.draw;
    harness.clock.advance(1);
    expect((await harness.read(4, 5, 6)).outcome).toBe('MISS');
    expect(harness.source.requests).toHaveLength(2);
  });

  it('a failed metatile does not affect other metatiles', async () => {
    const harness = open();
    harness.source.answer = async (request, number) => {
      if (number === 0) throw unavailable();
      return harness.source.draw(request);
    };
    await expect(harness.read(4, 5, 6)).rejects.toThrow();
    expect((await harness.read(4, 9, 6)).outcome).toBe('MISS');
  });

  it('a failed metatile hides an unexpected error behind one that may be shown', async () => {
    const harness = open();
    harness.source.answer = async () => {
      throw new TypeError('cannot read /secret/path');
    };
    const failure = await harness.read(4, 5, 6).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'source-unavailable', reason: 'unexpected' });
    expect(String(failure)).not.toContain('secret');
  });
});

describe('a reader who leaves', () => {
  it('a reader who leaves does not take the tile from the others', async () => {
    const harness = open();
    const gate = hold(harness);
    const leaving = new AbortController();
    const left = harness.read(4, 5, 6, leaving.signal);
    const staying = harness.read(4, 5, 6);
    await until(() => harness.pipeline.status().waitingReads === 2 && harness.source.requests.length === 1);
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    gate.open();
    expect((await staying).outcome).toBe('MISS');
    expect(harness.source.requests).toHaveLength(1);
  });

  it('a reader who leaves last ends the fetch, and the next reader starts a new one', async () => {
    const harness = open();
    const gate = hold(harness);
    const leaving = new AbortController();
    const left = harness.read(4, 5, 6, leaving.signal);
    await until(() => harness.source.requests.length === 1);
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(harness.source.requests[0]?.signal.aborted).toBe(true);
    const next = harness.read(4, 5, 6);
    gate.open();
    expect((await next).outcome).toBe('MISS');
    expect(harness.source.requests).toHaveLength(2);
    expect(harness.warnings).toEqual([]);
  });
});

/** The layer of one harness, read on another one. */
function otherLayer({ tiles }: PipelineHarness, { store }: PipelineHarness): PipelineHarness['tiles'] {
  return { ...tiles, bound: { ...tiles.bound, store }, set: { ...tiles.set, layer: 'other' } };
}

describe('too many waiting readers', () => {
  it('too many waiting readers are refused immediately with a time to retry, while hits go on', async () => {
    const harness = open({ settings: { maxWaitingReads: 6 } });
    await harness.read(4, 0, 0);
    await until(() => harness.pipeline.status().flights === 0);
    const gate = hold(harness);
    const waiting = [4, 8, 12].map((x) => harness.read(4, x, 8));
    await until(() => harness.pipeline.status().waitingReads === 3);
    await expect(harness.read(4, 0, 12)).rejects.toMatchObject({ code: 'source-busy', retryAfterSeconds: 5 });
    expect((await harness.read(4, 0, 0)).outcome).toBe('HIT');
    gate.open();
    await Promise.all(waiting);
  });

  it('readers of one slow source are refused before they take the places of other sources', async () => {
    const harness = open({ settings: { maxWaitingReads: 4 } });
    const other = openPipelineHarness();
    const gate = hold(harness);
    const waiting = [0, 4].map((x) => harness.read(4, x, 0));
    await until(() => harness.pipeline.status().waitingReads === 2);
    for (let n = 0; n < 20; n++) {
      await expect(harness.read(4, 8, 0)).rejects.toMatchObject({ code: 'source-busy' });
    }
    const tiles = otherLayer(other, harness);
    expect((await harness.pipeline.read(tiles, { z: 1, x: 0, y: 0 })).outcome).toBe('MISS');
    gate.open();
    await Promise.all(waiting);
    expect((await harness.read(4, 8, 0)).outcome).toBe('MISS');
    await other.close();
  });

  it('readers of one dead source do not hold up another source', async () => {
    const settings = { maxFetchesPerSource: 2 };
    const harness = open({ settings });
    const alive = openPipelineHarness();
    harness.source.answer = () => new Promise(() => {});
    const stuck = [0, 4, 8, 12].map((x) => harness.read(4, x, 0).catch((error: unknown) => error));
    await until(() => harness.source.requests.length === 2 && harness.pipeline.status().waitingReads === 4);
    const tiles = otherLayer(alive, harness);
    expect((await harness.pipeline.read(tiles, { z: 1, x: 0, y: 0 })).outcome).toBe('MISS');
    harness.clock.advance(60_000);
    for (const failure of await Promise.all(stuck)) expect(failure).toMatchObject({ code: 'source-timeout' });
    await alive.close();
  });
});

describe('closing', () => {
  it('closing the pipeline waits for what is being stored and gives up what is being fetched', async () => {
    const harness = openPipelineHarness();
    await harness.read(4, 5, 6);
    harness.source.answer = () => new Promise(() => {});
    const fetching = harness.read(4, 0, 0);
    fetching.catch(() => {});
    await until(() => harness.source.requests.length === 2);
    await harness.close();
    await expect(fetching).rejects.toMatchObject({ code: 'stopping' });
    expect(await harness.store.get(harness.tiles.set, { z: 4, x: 5, y: 6 })).not.toBeNull();
    await expect(harness.read(4, 12, 12)).rejects.toMatchObject({ code: 'stopping' });
  });
});
