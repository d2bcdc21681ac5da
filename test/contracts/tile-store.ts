import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TileSetKey } from '../../src/domain/tile-key.ts';
import { packRects, rectContains, type TileRect, WHOLE_LEVEL } from '../../src/domain/tile-rect.ts';
import {
  countStored,
  layersIn,
  pagesIn,
  partsIn,
  presentTiles,
  readNow,
  readPage,
  tileSetsIn,
  validatorOf,
} from '../../src/storage/read-tiles.ts';
import { negated, type Store } from '../../src/storage/store.ts';
import { checkAgainstModel, storeCommands } from './tile-store-model.ts';
import {
  closeMark,
  collect,
  NOTHING,
  raise,
  recount,
  sortedPages,
  tile,
  tilesIn,
} from './tile-store-tools.ts';

export interface TileStoreHarness {
  /** An empty store, for all tests of the contract. They close it. */
  open(): Promise<Store>;
  /** How many random sequences of commands to try. */
  readonly modelRuns: number;
}

/** With layers of their own for each test, as generations of a layer are kept when its tiles are dropped. */
let states: TileSetKey;
let roads: TileSetKey;
const EVERYTHING: TileRect = { minX: 0, minY: 0, maxX: 2 ** 30, maxY: 2 ** 30 };
const EVERYTHING_AT_9: TileRect = { minX: 0, minY: 0, maxX: 127, maxY: 127 };
const AT_ZOOM_3 = { gridSet: 'EPSG:900913', z: 3, rect: { minX: 0, minY: 0, maxX: 7, maxY: 7 } };
const AT_ZOOM_9 = { gridSet: 'EPSG:900913', z: 9, rect: EVERYTHING_AT_9 };

/** Registers the contract of every tile store. */
export function behavesAsTileStore(harness: TileStoreHarness): void {
  describe('the contract of tile stores', () => {
    let store: Store;
    let tests = 0;
    beforeAll(async () => {
      store = await harness.open();
    });
    afterAll(() => store.close());
    beforeEach(() => {
      tests++;
      const set = { gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
      states = { layer: `topp:states ${tests}`, ...set };
      roads = { layer: `roads ${tests}`, ...set };
    });
    afterEach(async () => {
      for (const { number } of await store.marks()) await closeMark(store, number);
      for (const layer of await layersIn(store)) await store.drop(layer, null);
    });
    const use = (): Store => store;
    readsWhatWasWritten(use);
    writesAllOrNothing(use);
    keepsGenerations(use);
    knowsWhatIsFresh(use);
    deletes(use);
    tellsWhatIsThere(use);
    takesAnyName(use);
    standsConcurrentUse(use);
    followsTheModel(use, harness.modelRuns);
  });
}

function readsWhatWasWritten(use: () => Store): void {
  describe('reading', () => {
    it('a tile that was never written is null', async () => {
      expect(await use().get(states, { z: 3, x: 1, y: 2 })).toBeNull();
    });

    it('a tile is read with its bytes, their checksum, and its time', async () => {
      await use().put(states, 3, [tile(1, 2, 'hello', 1700000000123), tile(2, 2, '', 7)], 0);
      expect(await use().get(states, { z: 3, x: 1, y: 2 })).toEqual({
        bytes: Buffer.from('hello'),
        createdAt: 1700000000123,
        checksum: 0x3610a686,
        freshUntil: null,
        madeBy: null,
      });
      expect(await use().get(states, { z: 3, x: 2, y: 2 })).toMatchObject({
        bytes: Buffer.alloc(0),
        checksum: 0,
      });
    });

    it('a synchronous read returns the same tile as an asynchronous one', async () => {
      const [there, missing] = [
        { z: 3, x: 1, y: 2 },
        { z: 3, x: 2, y: 2 },
      ];
      await use().put(states, 3, [tile(1, 2, 'hello', 1700000000123)], 0);
      const atOnce = readNow(use(), states, there);
      expect(atOnce ?? (await use().get(states, there))).toEqual(await use().get(states, there));
      expect(readNow(use(), states, missing) ?? null).toBeNull();
      expect(readNow(use(), roads, there) ?? null).toBeNull();
    });

    it('the tile with the latest ticket is kept, whatever the clocks of the writers', async () => {
      const first = await use().ticket(states.layer, AT_ZOOM_3);
      const second = await use().ticket(states.layer, AT_ZOOM_3);
      const clocks = [0, 10_000, -10_000, 360_000, -360_000, 86_400_000];
      for (const [y, ahead] of clocks.entries()) {
        const renewed = [tile(1, y, 'renewed', 1_700_000_000_000 - ahead)];
        await use().put(states, 3, renewed, second.number);
        const late = [tile(1, y, 'from before the change', 1_700_000_000_000), tile(2, y, 'beside')];
        expect(await use().put(states, 3, late, first.number)).toEqual({ tiles: 1, bytes: 6 });
        expect((await use().get(states, { z: 3, x: 1, y }))?.bytes.toString()).toBe('renewed');
        const next = await use().ticket(states.layer, AT_ZOOM_3);
        await use().put(states, 3, [tile(1, y, 'by the next', 1)], next.number);
        expect((await use().get(states, { z: 3, x: 1, y }))?.bytes.toString()).toBe('by the next');
      }
    });

    it('tiles of a megabyte and at the far corner of zoom 30 can be stored', async () => {
      const far = 2 ** 30 - 1;
      const large = Buffer.alloc(1024 ** 2, 'abc');
      await use().put(states, 30, [{ x: far, y: far, bytes: large, createdAt: 1 }], 0);
      expect((await use().get(states, { z: 30, x: far, y: far }))?.bytes.equals(large)).toBe(true);
      expect(await use().get(states, { z: 30, x: far - 128, y: far })).toBeNull();
    });

    it('a page is read as a whole, without its neighbours and without hidden tiles', async () => {
      const written = [
        tile(16, 15, 'above'),
        tile(17, 16, 'b', 3),
        tile(31, 31, 'c'),
        tile(16, 16, 'hidden'),
      ];
      await use().put(states, 9, [...written, tile(32, 16, 'beside')], 0);
      const rect = { minX: 16, minY: 16, maxX: 16, maxY: 16 };
      await raise(use(), states.layer, [{ ...AT_ZOOM_9, rect }], { type: 'hide', at: 500 });
      const page = await readPage(use(), states, { z: 9, x: 20, y: 20 });
      expect(page.map(({ x, y, bytes }) => [x, y, bytes.toString()])).toEqual([
        [17, 16, 'b'],
        [31, 31, 'c'],
      ]);
      expect(page[0]).toEqual({ z: 9, x: 17, y: 16, ...(await use().get(states, { z: 9, x: 17, y: 16 })) });
    });

    it('tiles of other zooms, layers, grid sets, formats and parameters are separate', async () => {
      const sets = [
        states,
        roads,
        { ...states, gridSet: 'EPSG:4326' },
        { ...states, format: 'image/jpeg' },
        { ...states, parametersId: 'da39a3ee' },
      ];
      for (const [at, set] of sets.entries()) {
        await use().put(set, 3, [tile(1, 2, `low ${at}`)], 0);
        await use().put(set, 4, [tile(1, 2, `high ${at}`)], 0);
      }
      for (const [at, set] of sets.entries()) {
        expect((await use().get(set, { z: 3, x: 1, y: 2 }))?.bytes.toString()).toBe(`low ${at}`);
        expect((await use().get(set, { z: 4, x: 1, y: 2 }))?.bytes.toString()).toBe(`high ${at}`);
      }
    });

    it('a stored tile does not change with the buffer of its writer', async () => {
      const bytes = Buffer.from('before');
      await use().put(states, 0, [{ x: 0, y: 0, bytes, createdAt: 1 }], 0);
      bytes.fill('x');
      expect((await use().get(states, { z: 0, x: 0, y: 0 }))?.bytes.toString()).toBe('before');
    });

    it('present lists existing tiles of a block that are recent enough, row by row', async () => {
      const old = [tile(127, 127, 'a', 10), tile(130, 126, 'b', 10)];
      const recent = [tile(128, 127, 'c', 20), tile(126, 128, 'd', 30), tile(126, 126, 'e', 20)];
      await use().put(states, 9, [...old, ...recent, tile(200, 127, 'outside', 40)], 0);
      const block = { minX: 120, minY: 120, maxX: 135, maxY: 135 };
      const places = (since: number) =>
        presentTiles(use(), states, 9, block, since).then((tiles) => tiles.map(({ z, x, y }) => [z, x, y]));
      expect(await places(0)).toEqual([
        [9, 126, 126],
        [9, 130, 126],
        [9, 127, 127],
        [9, 128, 127],
        [9, 126, 128],
      ]);
      expect(await places(20)).toEqual([
        [9, 126, 126],
        [9, 128, 127],
        [9, 126, 128],
      ]);
      expect(await presentTiles(use(), roads, 9, block, 0)).toEqual([]);
    });
  });
}

function writesAllOrNothing(use: () => Store): void {
  describe('writing', () => {
    it('a write counts new tiles, and the difference in bytes of replaced ones', async () => {
      expect(await use().put(states, 3, [tile(1, 2, 'four'), tile(2, 2, 'sixsix')], 0)).toEqual({
        tiles: 2,
        bytes: 10,
      });
      expect(await use().put(states, 3, [tile(1, 2, 'longer'), tile(3, 2, 'new')], 0)).toEqual({
        tiles: 1,
        bytes: 5,
      });
      expect(await use().put(states, 3, [tile(1, 2, 's')], 0)).toEqual({ tiles: 0, bytes: -5 });
    });

    it('a write of an empty list changes nothing', async () => {
      expect(await use().put(states, 3, [], 0)).toEqual(NOTHING);
      expect(await layersIn(use())).toEqual([]);
    });

    it('the last of two tiles for one place in a write is stored', async () => {
      const change = await use().put(states, 3, [tile(1, 2, 'first'), tile(1, 2, 'second')], 0);
      expect(change).toEqual({ tiles: 1, bytes: 6 });
      expect((await use().get(states, { z: 3, x: 1, y: 2 }))?.bytes.toString()).toBe('second');
    });

    it('a block across four bundles and eight pages is stored in one write', async () => {
      const block = [126, 127, 128, 129].flatMap((x) =>
        [126, 127, 128, 129].map((y) => tile(x, y, `${x},${y}`)),
      );
      expect(await use().put(states, 9, block, 0)).toEqual({ tiles: 16, bytes: 16 * 7 });
      expect(
        await presentTiles(use(), states, 9, { minX: 100, minY: 100, maxX: 200, maxY: 200 }, 0),
      ).toHaveLength(16);
    });
  });
}

function keepsGenerations(use: () => Store): void {
  describe('generations', () => {
    it('generations begin at 0 and rise separately for each layer', async () => {
      expect(await use().marks(states.layer)).toBe(0);
      const first = await raise(use(), states.layer);
      const second = await raise(use(), states.layer);
      expect(second).toBeGreaterThan(first);
      expect(await use().marks(states.layer)).toBe(second);
      expect(await use().marks(roads.layer)).toBe(0);
    });

    it('the generation of a whole level is that of the latest change in it', async () => {
      const level = { ...AT_ZOOM_3, rect: WHOLE_LEVEL };
      expect(await use().marks(states.layer, level)).toBe(0);
      const raised = await raise(use(), states.layer, [AT_ZOOM_3]);
      expect(await use().marks(states.layer, level)).toBe(raised);
    });

    it('generations and tickets share one rising sequence', async () => {
      const given: number[] = [];
      for (let round = 0; round < 5; round++) {
        const { number, generation } = await use().ticket(states.layer, AT_ZOOM_3);
        expect(generation).toBe(round === 0 ? 0 : given.at(-1));
        given.push(number, await raise(use(), states.layer));
      }
      expect(given).toEqual([...new Set(given)].toSorted((a, b) => a - b));
    });

    it('a write with tiles fetched before a truncation is rejected as a whole', async () => {
      await use().put(states, 9, [tile(127, 1, 'there')], 0);
      const before = await use().ticket(states.layer, AT_ZOOM_9);
      await raise(use(), states.layer);
      const late = use().put(states, 9, [tile(127, 1, 'stale'), tile(128, 1, 'stale')], before.number);
      await expect(late).rejects.toMatchObject({ code: 'generation-stale' });
      expect((await use().get(states, { z: 9, x: 127, y: 1 }))?.bytes.toString()).toBe('there');
      expect(await use().get(states, { z: 9, x: 128, y: 1 })).toBeNull();
      const { number } = await use().ticket(states.layer, AT_ZOOM_9);
      expect(await use().put(states, 9, [tile(128, 1, 'fresh')], number)).toEqual({ tiles: 1, bytes: 5 });
      expect(await use().put(roads, 9, [tile(128, 1, 'other')], 0)).toEqual({ tiles: 1, bytes: 5 });
    });

    it('only stale writes are rejected among concurrent writes', async () => {
      const raised = await raise(use(), states.layer);
      const tickets = [raised, 0, raised, raised, 0, raised, raised, raised];
      const writes = tickets.map((ticket, x) =>
        use().put(states, 9, [tile(x, 1, 'sea'), tile(x, 2, 'sea')], ticket),
      );
      const ends = (await Promise.allSettled(writes)).map(({ status }) => status);
      expect(ends).toEqual(tickets.map((ticket) => (ticket ? 'fulfilled' : 'rejected')));
      const there = await presentTiles(use(), states, 9, { minX: 0, minY: 1, maxX: 7, maxY: 1 }, 0);
      expect(there.map(({ x }) => x)).toEqual([0, 2, 3, 5, 6, 7]);
    });

    it('the generation of a place rejects stale writes there and nowhere else', async () => {
      const rect = { minX: 100, minY: 0, maxX: 127, maxY: 9 };
      const raised = await raise(use(), states.layer, [{ gridSet: states.gridSet, z: 9, rect }]);
      const late = use().put(states, 9, [tile(99, 1, 'late'), tile(100, 1, 'late')], 0);
      await expect(late).rejects.toMatchObject({ code: 'generation-stale' });
      expect(await use().put(states, 9, [tile(99, 1, 'other')], 0)).toMatchObject({ tiles: 1 });
      expect(await use().put(states, 8, [tile(100, 1, 'other')], 0)).toMatchObject({ tiles: 1 });
      const elsewhere = { ...states, gridSet: 'another' };
      expect(await use().put(elsewhere, 9, [tile(100, 1, 'other')], 0)).toMatchObject({ tiles: 1 });
      const place = (x: number) => ({ gridSet: states.gridSet, z: 9, rect: { ...rect, minX: x, maxX: x } });
      expect(await use().marks(states.layer, place(99))).toBe(0);
      expect(await use().marks(states.layer, place(100))).toBe(raised);
      expect(await use().put(states, 9, [tile(100, 1, 'fresh')], raised)).toMatchObject({ tiles: 1 });
      const all = await raise(use(), states.layer);
      expect(await use().marks(states.layer, place(99))).toBe(all);
    });

    it('a generation with a hide effect hides its tiles and no others, with an open mark', async () => {
      const jpeg = { ...states, format: 'image/jpeg' };
      const tiles = [tile(1, 1, 'in'), tile(2, 2, 'beside'), tile(9, 9, 'out')];
      for (const set of [states, jpeg, roads]) await use().put(set, 9, tiles, 0);
      const rect = { minX: 0, minY: 0, maxX: 7, maxY: 7 };
      const parts = packRects([{ minX: 0, minY: 0, maxX: 7, maxY: 1 }]);
      const place = { gridSet: states.gridSet, z: 9, rect, parts };
      const effect = { type: 'hide' as const, at: 500, formats: [states.format], parametersId: null };
      const number = await raise(use(), states.layer, [place], effect);
      const shown = async (set: TileSetKey) =>
        (await presentTiles(use(), set, 9, { ...rect, maxX: 9, maxY: 9 }, 0)).map(({ x }) => x);
      expect(await shown(states)).toEqual([2, 9]);
      expect(await use().get(states, { z: 9, x: 1, y: 1 })).toBeNull();
      expect(await use().get(states, { z: 9, x: 2, y: 2 })).not.toBeNull();
      expect(readNow(use(), states, { z: 9, x: 1, y: 1 }) ?? null).toBeNull();
      if (use().isLocal) expect(readNow(use(), states, { z: 9, x: 2, y: 2 })).toMatchObject({ createdAt: 1 });
      expect([await shown(jpeg), await shown(roads)]).toEqual([
        [1, 2, 9],
        [1, 2, 9],
      ]);
      expect(await countStored(use(), states, 9, rect)).toMatchObject({ tiles: 2 });
      expect(await use().marks()).toEqual([{ layer: states.layer, number, effect, places: [place] }]);
      await closeMark(use(), number);
      expect(await use().marks()).toEqual([]);
    });

    it('a mark over several places hides tiles and refuses late writers at each of them, and nowhere else', async () => {
      const other = { ...states, gridSet: 'other' };
      const at = (x: number) => ({ minX: x, minY: 0, maxX: x, maxY: 0 });
      const places = [
        { gridSet: states.gridSet, z: 9, rect: at(1) },
        { gridSet: states.gridSet, z: 9, rect: { ...at(3), maxX: 9 }, parts: packRects([at(5)]) },
        { gridSet: states.gridSet, z: 10, rect: at(1) },
        { gridSet: other.gridSet, z: 9, rect: at(9) },
      ];
      const levels = [states, other].flatMap((set) => [9, 10].map((z) => ({ set, z })));
      const shown = () =>
        Promise.all(
          levels.map(async ({ set, z }) =>
            (await presentTiles(use(), set, z, { ...at(0), maxX: 9 }, 0)).map(({ x }) => x),
          ),
        );
      for (const { set, z } of levels)
        await use().put(
          set,
          z,
          [1, 5, 9].map((x) => tile(x, 0, 'old')),
          0,
        );
      const number = await raise(use(), states.layer, places, { type: 'hide', at: 500 });
      expect(await shown()).toEqual([[9], [5, 9], [1, 5], [1, 5, 9]]);
      expect(await use().marks()).toMatchObject([{ number, places }]);
      await use().put(states, 9, [tile(1, 0, 'new')], number);
      expect(await shown()).toEqual([
        [1, 9],
        [5, 9],
        [1, 5],
        [1, 5, 9],
      ]);
      await closeMark(use(), number);
      expect(await shown()).toEqual([
        [1, 5, 9],
        [1, 5, 9],
        [1, 5, 9],
        [1, 5, 9],
      ]);
      for (const { gridSet, z, rect } of places) {
        const late = use().put({ ...states, gridSet }, z, [tile(rect.minX, 0, 'late')], number - 1);
        await expect(late).rejects.toMatchObject({ code: 'generation-stale' });
      }
      expect(await use().put(states, 9, [tile(2, 0, 'beside')], number - 1)).toMatchObject({ tiles: 1 });
    });

    it('hundreds of changes during a fetch refuse its tiles at their places alone, and use few numbers', async () => {
      const before = await use().ticket(roads.layer, AT_ZOOM_9);
      const at = (x: number) => ({ gridSet: 'g', z: 9, rect: { minX: x, minY: 0, maxX: x, maxY: 0 } });
      const raised: number[] = [];
      const RAISES = 256;
      for (let x = 0; x < RAISES + 4; x++) raised.push(await raise(use(), roads.layer, [at(x)]));
      for (const x of [0, 3, 4, RAISES]) {
        const late = use().put({ ...roads, gridSet: 'g' }, 9, [tile(x, 0, 'late')], (raised[x] ?? 0) - 1);
        await expect(late).rejects.toMatchObject({ code: 'generation-stale' });
      }
      expect(await use().marks(roads.layer, at(RAISES))).toBe(raised[RAISES]);
      const beside = use().put({ ...roads, gridSet: 'g' }, 9, [tile(400, 0, 'fresh')], before.number);
      expect(await beside).toMatchObject({ tiles: 1 });
      // Numbers of 53 bits last for ever.
      expect(Math.max(...raised) - before.number).toBeLessThan(4 * RAISES);
    });

    it('a late removal or mark does not touch tiles of later generations', async () => {
      const early = await use().ticket(states.layer, AT_ZOOM_9);
      await use().put(states, 9, [tile(1, 1, 'old'), tile(2, 1, 'old'), tile(3, 1, 'old')], early.number);
      const before = await raise(use(), states.layer);
      const later = await use().ticket(states.layer, AT_ZOOM_9);
      await use().put(states, 9, [tile(2, 1, 'new')], later.number);
      const mark = { type: 'outdate', at: 700, before } as const;
      expect(await use().edit(states, 9, EVERYTHING, mark)).toMatchObject({ tiles: 2 });
      expect(await use().get(states, { z: 9, x: 2, y: 1 })).toMatchObject({ freshUntil: null });
      await use().edit(states, 9, EVERYTHING_AT_9, {
        type: 'confirm',
        createdAt: 9,
        freshUntil: 9,
        madeBy: 9,
        ticket: before,
      });
      expect(await use().get(states, { z: 9, x: 2, y: 1 })).toMatchObject({ freshUntil: null });
      const removed = await use().edit(states, 9, EVERYTHING, { type: 'remove', before: before + 1 });
      expect(removed).toEqual({ tiles: 2, bytes: 6 });
      expect((await use().get(states, { z: 9, x: 2, y: 1 }))?.bytes.toString()).toBe('new');
    });

    it('the generation of a dropped layer is kept', async () => {
      const raised = await raise(use(), roads.layer);
      await use().put(roads, 0, [tile(0, 0, 'x')], raised);
      await use().drop(roads.layer, null);
      expect(await use().marks(roads.layer)).toBe(raised);
    });

    it('concurrent raises of a generation return different numbers', async () => {
      const raised = await Promise.all(Array.from({ length: 20 }, () => raise(use(), roads.layer)));
      expect(new Set(raised).size).toBe(20);
      expect(await use().marks(roads.layer)).toBe(Math.max(...raised));
    });
  });
}

function knowsWhatIsFresh(use: () => Store): void {
  const block: TileRect = { minX: 126, minY: 5, maxX: 129, maxY: 6 };
  const all = Array.from({ length: 8 }, (_, at) => ({ x: 126 + (at % 4), y: 5 + Math.floor(at / 4) }));
  const blockOf = (extra: object) => all.map(({ x, y }) => ({ ...tile(x, y, 'map', 100), ...extra }));

  describe('freshness', () => {
    it('freshness is stored with each tile, and expired tiles can be left out', async () => {
      await use().put(states, 9, [...blockOf({ freshUntil: 500 }), tile(130, 5, 'map', 100)], 0);
      expect(await use().get(states, { z: 9, x: 126, y: 5 })).toMatchObject({ freshUntil: 500 });
      const wider = { ...block, maxX: 130 };
      expect(await presentTiles(use(), states, 9, wider, 0, 499)).toHaveLength(9);
      expect(await presentTiles(use(), states, 9, wider, 0, 500)).toEqual([{ z: 9, x: 130, y: 5 }]);
      expect(await presentTiles(use(), states, 9, wider, 0)).toHaveLength(9);
    });

    it('marking a range stale over several bundles affects its tiles and no others', async () => {
      await use().put(states, 9, blockOf({}), 0);
      await use().put(roads, 9, blockOf({}), 0);
      const marked = await use().edit(
        states,
        9,
        { minX: 0, minY: 6, maxX: 128, maxY: 2000 },
        { type: 'outdate', at: 700 },
      );
      expect(marked).toMatchObject({ tiles: 3 });
      expect(await use().get(states, { z: 9, x: 128, y: 6 })).toMatchObject({
        bytes: Buffer.from('map'),
        createdAt: 100,
        freshUntil: -700,
      });
      expect(await presentTiles(use(), states, 9, block, 0, 700)).toHaveLength(5);
      expect(await presentTiles(use(), roads, 9, block, 0, 700)).toHaveLength(8);
    });

    it('an outdate mark makes tiles stale until they are stored again', async () => {
      await use().put(states, 9, blockOf({}), 0);
      const number = await raise(use(), states.layer, null, {
        type: 'outdate',
        at: 500,
        createdBefore: 101,
      });
      const at = (x: number) => use().get(states, { z: 9, x, y: 5 });
      expect(await at(128)).toMatchObject({ bytes: Buffer.from('map'), freshUntil: -500 });
      expect(await presentTiles(use(), states, 9, block, 0, 600)).toEqual([]);
      expect(await presentTiles(use(), states, 9, block, 0)).toHaveLength(8);
      await use().put(states, 9, [tile(128, 5, 'new')], number);
      expect(await at(128)).toMatchObject({ bytes: Buffer.from('new'), freshUntil: null });
      expect(await at(129)).toMatchObject({ freshUntil: -500 });
    });

    it('marking stale with createdBefore affects only older tiles', async () => {
      await use().put(states, 9, [tile(1, 1, 'old', 100), tile(2, 1, 'new', 200)], 0);
      const mark = { type: 'outdate', at: 700, createdBefore: 200 } as const;
      expect(await use().edit(states, 9, EVERYTHING, mark)).toMatchObject({ tiles: 1 });
      expect(await use().get(states, { z: 9, x: 2, y: 1 })).toMatchObject({ freshUntil: null });
    });

    it('a tile that expired before it was marked is stale since its expiry', async () => {
      await use().put(states, 9, blockOf({ freshUntil: 300 }), 0);
      await use().edit(states, 9, block, { type: 'outdate', at: 700 });
      await use().edit(states, 9, block, { type: 'outdate', at: 200 });
      expect(await use().get(states, { z: 9, x: 128, y: 6 })).toMatchObject({ freshUntil: -300 });
    });

    it('confirmed tiles are fresh again, but not after a truncation', async () => {
      await use().put(states, 9, blockOf({ freshUntil: 300 }), 0);
      await use().edit(states, 9, block, {
        type: 'confirm',
        createdAt: 900,
        freshUntil: null,
        madeBy: 8,
        ticket: 0,
      });
      expect(await use().get(states, { z: 9, x: 129, y: 5 })).toMatchObject({
        bytes: Buffer.from('map'),
        createdAt: 900,
        freshUntil: null,
        madeBy: 8,
      });
      await raise(use(), states.layer);
      const late = use().edit(states, 9, block, {
        type: 'confirm',
        createdAt: 999,
        freshUntil: null,
        madeBy: 9,
        ticket: 0,
      });
      await expect(late).rejects.toMatchObject({ code: 'generation-stale' });
    });

    it('a tile is read with the task that made it, or null', async () => {
      const makers = [7, 0, null, 2 ** 40].map((madeBy, x) => ({ ...tile(x, 0, 'map', 100), madeBy }));
      await use().put(states, 9, [...makers, tile(4, 0, 'map', 100)], 0);
      const found = await Promise.all([0, 1, 2, 3, 4].map((x) => use().get(states, { z: 9, x, y: 0 })));
      expect(found.map((one) => one?.madeBy)).toEqual([7, 0, null, 2 ** 40, null]);
      await use().put(states, 9, [{ ...tile(0, 0, 'new', 200), madeBy: 0 }], 0);
      await use().edit(states, 9, { minX: 0, minY: 0, maxX: 9, maxY: 0 }, { type: 'outdate', at: 300 });
      expect(await use().get(states, { z: 9, x: 0, y: 0 })).toMatchObject({ madeBy: 0 });
    });

    it('a block has a validator if all its tiles share one', async () => {
      expect(await validatorOf(use(), states, 9, block)).toBeNull();
      await use().put(states, 9, blockOf({ validator: '"v1"' }), 0);
      expect(await validatorOf(use(), states, 9, block)).toBe('"v1"');
      expect(await validatorOf(use(), states, 9, { ...block, maxX: 130 })).toBeNull();
      await use().put(states, 9, [{ ...tile(129, 6, 'map', 200), validator: '"v2"' }], 0);
      expect(await validatorOf(use(), states, 9, block)).toBeNull();
      await use().put(states, 9, [tile(129, 6, 'map', 200)], 0);
      expect(await validatorOf(use(), states, 9, block)).toBeNull();
    });
  });
}

function deletes(use: () => Store): void {
  describe('deleting', () => {
    const grid = [0, 15, 16, 126, 127, 128, 300].flatMap((x) =>
      [0, 16, 127, 128].map((y) => tile(x, y, `${x},${y}`)),
    );

    it.each([
      ['one tile', { minX: 15, minY: 16, maxX: 15, maxY: 16 }],
      ['one page', { minX: 0, minY: 0, maxX: 15, maxY: 15 }],
      ['one bundle', { minX: 0, minY: 0, maxX: 127, maxY: 127 }],
      ['a block across bundles', { minX: 16, minY: 16, maxX: 128, maxY: 128 }],
      ['more than there can be', EVERYTHING],
      ['nothing', { minX: 1000, minY: 1000, maxX: 2000, maxY: 2000 }],
    ])('a range is deleted exactly: %s', async (_, rect) => {
      await use().put(states, 9, grid, 0);
      const inside = grid.filter(
        (t) => t.x >= rect.minX && t.x <= rect.maxX && t.y >= rect.minY && t.y <= rect.maxY,
      );
      const bytes = inside.reduce((sum, t) => sum + t.bytes.length, 0);
      expect(await use().edit(states, 9, rect, { type: 'remove' })).toEqual({
        tiles: inside.length,
        bytes,
      });
      for (const { x, y } of inside) expect(await use().get(states, { z: 9, x, y })).toBeNull();
      const left = await presentTiles(use(), states, 9, { minX: 0, minY: 0, maxX: 300, maxY: 128 }, 0);
      const namesOf = (tiles: readonly { x: number; y: number }[]) =>
        tiles.map(({ x, y }) => `${x},${y}`).sort();
      expect(namesOf(left)).toEqual(namesOf(grid.filter((t) => !inside.includes(t))));
      const pages = sortedPages(await collect(pagesIn(use(), { set: states })));
      expect(pages).toEqual(await recount(use(), states));
      expect(pages.reduce((sum, { tiles }) => sum + tiles, 0)).toBe(left.length);
    });

    it('deleting and counting with createdBefore affect only older tiles', async () => {
      const aged = grid.map((one, at) => ({ ...one, createdAt: at % 2 === 0 ? 100 : 200 }));
      const half = grid.length / 2;
      await use().put(states, 9, aged, 0);
      const bytes = aged.reduce((sum, one) => sum + (one.createdAt < 200 ? one.bytes.length : 0), 0);
      expect(await countStored(use(), states, 9, EVERYTHING, 200)).toEqual({ tiles: half, bytes });
      expect(await use().edit(states, 9, EVERYTHING, { type: 'remove', createdBefore: 200 })).toEqual({
        tiles: half,
        bytes,
      });
      expect(await countStored(use(), states, 9, EVERYTHING, 200)).toEqual(NOTHING);
      expect(await countStored(use(), states, 9, EVERYTHING)).toMatchObject({ tiles: half });
      expect(await countStored(use(), states, 9, { minX: 127, minY: 0, maxX: 127, maxY: 200 })).toMatchObject(
        {
          tiles: 2,
        },
      );
      expect(sortedPages(await collect(pagesIn(use(), { set: states })))).toEqual(
        await recount(use(), states),
      );
    });

    it('parts of a zoom cover every tile exactly once', async () => {
      await use().put(states, 9, grid, 0);
      const within = { minX: 10, minY: 0, maxX: 2 ** 31, maxY: 130 };
      const parts = (await partsIn(use(), states, 9, within)).map(({ rect }) => rect);
      for (const { x, y } of grid.filter((one) => one.x >= 10)) {
        expect(parts.filter((part) => rectContains(part, x, y))).toHaveLength(1);
      }
      for (const part of parts) {
        expect(part.minX).toBeGreaterThanOrEqual(10);
        expect(part.maxX - part.minX).toBeLessThan(128);
      }
      expect(await partsIn(use(), roads, 9, EVERYTHING)).toEqual([]);
    });

    it('a deletion leaves other zooms and tile sets, and a second one finds nothing', async () => {
      await use().put(states, 9, [tile(1, 1, 'gone')], 0);
      await use().put(states, 8, [tile(1, 1, 'stays')], 0);
      await use().put(roads, 9, [tile(1, 1, 'stays')], 0);
      await use().edit(states, 9, EVERYTHING, { type: 'remove' });
      expect(await use().edit(states, 9, EVERYTHING, { type: 'remove' })).toEqual(NOTHING);
      expect(await use().get(states, { z: 8, x: 1, y: 1 })).not.toBeNull();
      expect(await use().get(roads, { z: 9, x: 1, y: 1 })).not.toBeNull();
    });

    it('a deleted range can be written again', async () => {
      await use().put(states, 9, grid, 0);
      await use().edit(states, 9, EVERYTHING, { type: 'remove' });
      expect(await use().put(states, 9, grid, 0)).toMatchObject({ tiles: grid.length });
      expect((await use().get(states, { z: 9, x: 127, y: 128 }))?.bytes.toString()).toBe('127,128');
    });

    it('an aborted deletion rejects with the reason of its signal', async () => {
      await use().put(states, 9, grid, 0);
      const reason = new Error('enough');
      await expect(
        use().edit(states, 9, EVERYTHING, { type: 'remove' }, AbortSignal.abort(reason)),
      ).rejects.toBe(reason);
    });

    it('dropping a tile set or a layer removes nothing else', async () => {
      const jpeg = { ...states, format: 'image/jpeg' };
      for (const set of [states, jpeg, roads]) await use().put(set, 9, grid, 0);
      await use().drop(states.layer, states);
      expect(await use().get(states, { z: 9, x: 0, y: 0 })).toBeNull();
      expect(await use().get(jpeg, { z: 9, x: 0, y: 0 })).not.toBeNull();
      await use().drop(states.layer, null);
      expect(await use().get(jpeg, { z: 9, x: 0, y: 0 })).toBeNull();
      expect(await layersIn(use())).toEqual([roads.layer]);
      await use().drop('never seen', null);
      expect(await use().put(states, 9, grid, 0)).toMatchObject({ tiles: grid.length });
    });

    it('the space of a dropped layer is freed', async () => {
      await use().put(states, 9, grid, 0);
      await use().drop(states.layer, null);
      await expect.poll(async () => (await use().usage()).sweeping).toEqual({ files: 0, bytes: 0 });
    });
  });
}

function tellsWhatIsThere(use: () => Store): void {
  describe('listing', () => {
    it('pages have their counts of tiles and bytes', async () => {
      await use().put(
        states,
        9,
        [tile(0, 0, 'ab'), tile(15, 15, 'cde'), tile(16, 15, 'f'), tile(300, 129, 'g')],
        0,
      );
      await use().put(states, 2, [tile(3, 3, 'h')], 0);
      expect(sortedPages(await collect(pagesIn(use(), { set: states })))).toEqual([
        { set: states, z: 2, pageX: 0, pageY: 0, tiles: 1, bytes: 1 },
        { set: states, z: 9, pageX: 0, pageY: 0, tiles: 2, bytes: 5 },
        { set: states, z: 9, pageX: 1, pageY: 0, tiles: 1, bytes: 1 },
        { set: states, z: 9, pageX: 18, pageY: 8, tiles: 1, bytes: 1 },
      ]);
      expect(await collect(pagesIn(use(), { set: roads }))).toEqual([]);
    });

    it('a page has the time of its last write, also of equal tiles, but not of a deletion', async () => {
      const clockMoves = async () => {
        const before = Date.now();
        await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(before), { interval: 1 });
        return Date.now();
      };
      const order = async () => {
        const pages = await collect(pagesIn(use(), { set: states }));
        return pages.sort((a, b) => a.writtenAt - b.writtenAt).map(({ pageX }) => pageX);
      };
      const began = Date.now();
      for (const x of [0, 16, 32]) {
        await use().put(states, 9, [tile(x, 0, 'a', Date.now()), tile(x + 1, 0, 'b', Date.now())], 0);
        await clockMoves();
      }
      expect(await order()).toEqual([0, 1, 2]);
      await use().put(states, 9, [tile(16, 0, 'a', await clockMoves())], 0);
      await clockMoves();
      await use().edit(states, 9, { minX: 0, minY: 0, maxX: 0, maxY: 0 }, { type: 'remove' });
      expect(await order()).toEqual([0, 2, 1]);
      const [first] = await collect(pagesIn(use(), { set: states }));
      expect(first?.writtenAt).toBeGreaterThanOrEqual(began);
    });

    it('the tiles of a zoom are listed with sizes and times', async () => {
      await use().put(states, 9, [tile(5, 200, 'abc', 17), tile(129, 1, '', 18)], 0);
      const entries = await collect(tilesIn(use(), states, 9));
      const fresh = { freshUntil: null, validator: null, hidden: false };
      expect(entries.sort((a, b) => a.x - b.x)).toEqual([
        { z: 9, x: 5, y: 200, bytes: 3, createdAt: 17, ...fresh },
        { z: 9, x: 129, y: 1, bytes: 0, createdAt: 18, ...fresh },
      ]);
      expect(await collect(tilesIn(use(), states, 8))).toEqual([]);
    });

    it('only layers and tile sets with tiles are listed', async () => {
      const styled = { ...roads, parametersId: '0a4d55a8d778e5022fab701977c5d840bbc486d0' };
      for (const set of [states, roads, styled]) await use().put(set, 9, [tile(1, 1, 'x')], 0);
      await raise(use(), 'empty');
      expect((await layersIn(use())).toSorted()).toEqual([roads.layer, states.layer]);
      expect(await tileSetsIn(use(), roads.layer)).toEqual(expect.arrayContaining([roads, styled]));
      await use().edit(states, 9, EVERYTHING, { type: 'remove' });
      expect(await layersIn(use())).toEqual([roads.layer]);
      expect(await tileSetsIn(use(), states.layer)).toEqual([]);
    });
  });
}

function takesAnyName(use: () => Store): void {
  describe('names', () => {
    const names = [
      'topp:states',
      'img states',
      'a.b',
      '..',
      '.',
      '/',
      '../../etc',
      'Straße',
      '地図',
      'A',
      'a',
      'CON',
    ];

    it('any layer name is accepted and has its own tiles', async () => {
      const long = [
        'x'.repeat(200),
        `${'x'.repeat(199)}y`,
        '図'.repeat(200),
        ' ',
        'a\\b',
        'a\u0000b',
        '%2e%2e',
        '\ud800',
      ];
      const all = [...names, ...long];
      for (const layer of all) await use().put({ ...states, layer }, 1, [tile(0, 0, layer)], 0);
      for (const layer of all) {
        const found = await use().get({ ...states, layer }, { z: 1, x: 0, y: 0 });
        expect(found?.bytes.equals(Buffer.from(layer))).toBe(true);
      }
      expect(new Set(await layersIn(use()))).toEqual(new Set(all));
    });

    it('any name of a grid set, format or parameter id is accepted and has its own tiles', async () => {
      const sets = names.flatMap((name): TileSetKey[] => [
        { ...states, gridSet: name },
        { ...states, format: name },
        { ...states, parametersId: name },
      ]);
      for (const set of sets) await use().put(set, 1, [tile(0, 0, JSON.stringify(set))], 0);
      for (const set of sets) {
        const found = await use().get(set, { z: 1, x: 0, y: 0 });
        expect(found?.bytes.toString()).toBe(JSON.stringify(set));
      }
      const listed = await tileSetsIn(use(), states.layer);
      expect(new Set(listed.map((set) => JSON.stringify(set)))).toEqual(
        new Set(sets.map((set) => JSON.stringify(set))),
      );
    });
  });
}

function standsConcurrentUse(use: () => Store): void {
  it('a store counts exactly during concurrent writes, reads and deletions', async () => {
    const block = { minX: 0, minY: 0, maxX: 20, maxY: 20 };
    const changes = await Promise.all(
      Array.from({ length: 60 }, async (_, at) => {
        if (at % 7 === 6) return negated(await use().edit(states, 5, block, { type: 'remove' }));
        const x = (at * 11) % 140;
        const written = [tile(x, 3, 'a'.repeat(at + 1)), tile(x + 1, 3, 'b'.repeat(at + 1))];
        const change = await use().put(states, 5, written, 0);
        await use().get(states, { z: 5, x, y: 3 });
        return change;
      }),
    );
    const pages = await collect(pagesIn(use(), { set: states }));
    const sum = (counts: readonly { tiles: number; bytes: number }[]) => ({
      tiles: counts.reduce((total, count) => total + count.tiles, 0),
      bytes: counts.reduce((total, count) => total + count.bytes, 0),
    });
    expect(sum(pages)).toEqual(sum(changes));
    expect(sortedPages(pages)).toEqual(await recount(use(), states));
  });
}

function followsTheModel(use: () => Store, runs: number): void {
  it('a store equals a plain map of tiles after any sequence of commands', async () => {
    await fc.assert(
      fc.asyncProperty(storeCommands, async (commands) => {
        for (const layer of await layersIn(use())) await use().drop(layer, null);
        await checkAgainstModel(use(), commands);
      }),
      { numRuns: runs },
    );
  });
}
