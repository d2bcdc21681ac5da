import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import {
  closeMark,
  collect,
  raise,
  recount,
  sortedPages,
  tile,
  tilesIn,
} from '../../../test/contracts/tile-store-tools.ts';
import { inLength, randomSeed } from '../../../test/fixtures/length.ts';
import { openStoreIn } from '../../../test/fixtures/segment-store.ts';
import { falseIfOutdated } from '../../domain/errors.ts';
import type { TileSetKey } from '../../domain/tile-key.ts';
import { systemClock } from '../../lib/clock.ts';
import { pagesIn } from '../read-tiles.ts';
import type { Store } from '../store.ts';
import { rebuildSegmentIndex } from './rebuild-segment-index.ts';

const folder = mkdtempSync(join(tmpdir(), 'rebuild-index-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SETS: readonly TileSetKey[] = ['roads', 'rivers'].map((layer) => ({
  layer,
  gridSet: 'EPSG:900913',
  format: 'image/png',
  parametersId: null,
}));
const [ROADS] = SETS as [TileSetKey];
const Z = 8;
const SEED = randomSeed();
const ALL = { minX: 0, minY: 0, maxX: 255, maxY: 255 };
const options = { maxOpenSegments: 16, sweepBytesPerSecond: 2 ** 29, segmentBytes: 2000 };

const newRoot = () => mkdtempSync(join(folder, 'root-'));
const open = (root: string) => openStoreIn(root, options);
const rebuild = (root: string, signal = new AbortController().signal) =>
  rebuildSegmentIndex({ name: 'default', root, clock: systemClock, signal, onProgress: () => {} });

const DAMAGES: Readonly<Record<string, (path: string) => void>> = {
  'is gone': (path) => rmSync(path),
  'is not one': (path) => writeFileSync(path, 'garbage '.repeat(1000)),
  'lost its bytes': (path) => truncateSync(path, 0),
  'lost its end': (path) => truncateSync(path, 8192),
};

async function using<T>(root: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open(root);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

it.each(Object.keys(DAMAGES))('a store whose index %s says what to do, and is rebuilt', async (name) => {
  const root = newRoot();
  await using(root, async (store) => {
    await store.put(ROADS, Z, [tile(1, 1, 'one'), tile(200, 9, 'two', 7)], 3);
  });
  DAMAGES[name]?.(join(root, 'index.sqlite'));
  const start = open(root).then((store) => store.get(ROADS, { z: Z, x: 1, y: 1 }));
  await expect(start).rejects.toMatchObject({
    code: 'store-failed',
    message: expect.stringMatching(/^The index of .* is damaged or missing. List .*rebuild-index/),
  });
  expect(await rebuild(root)).toEqual({ packs: 2, tiles: 2, leftOut: 0, sets: [ROADS] });
  await using(root, async (store) => {
    const shown = await store.get(ROADS, { z: Z, x: 200, y: 9 });
    expect(shown).toMatchObject({ bytes: Buffer.from('two'), createdAt: 7 });
    expect(shown?.freshUntil).toBeLessThan(0);
  });
  await expect(rebuild(root)).rejects.toMatchObject({ message: expect.stringContaining('is not damaged') });
  expect(readdirSync(root)).not.toContain('rebuilding.sqlite');
});

it('a rebuild that is interrupted leaves no index, and begins again', async () => {
  const root = newRoot();
  await using(root, (store) => store.put(ROADS, Z, [tile(1, 1, 'one')], 3));
  rmSync(join(root, 'index.sqlite'));
  await expect(rebuild(root, AbortSignal.abort())).rejects.toThrow();
  expect(readdirSync(root)).not.toContain('index.sqlite');
  expect(await rebuild(root)).toMatchObject({ tiles: 1 });
});

it('a rebuild leaves out the record that a power cut has torn', async () => {
  const root = newRoot();
  await using(root, async (store) => {
    await store.put(ROADS, Z, [tile(1, 1, 'one')], 3);
    await store.put(ROADS, Z, [tile(1, 2, 'two')], 3);
  });
  const [file = ''] = readdirSync(join(root, 'segments', '1'));
  const path = join(root, 'segments', '1', file);
  truncateSync(path, statSync(path).size - 1);
  rmSync(join(root, 'index.sqlite'));
  await rebuild(root);
  await using(root, async (store) => {
    expect((await store.get(ROADS, { z: Z, x: 1, y: 1 }))?.bytes.toString()).toBe('one');
    expect(await store.get(ROADS, { z: Z, x: 1, y: 2 })).toBeNull();
  });
});

const step = fc.record({
  do: fc.constantFrom(
    'put',
    'put',
    'put',
    'put',
    'late',
    'hide',
    'outdate',
    'clean',
    'drop',
    'evict',
    'confirm',
  ),
  set: fc.nat(SETS.length - 1),
  x: fc.integer({ min: 126, max: 129 }),
});

interface Step {
  readonly do: string;
  readonly set: number;
  readonly x: number;
}

/** Contents by tile set and place; those of a dropped tile set end when it is filled again. */
class History {
  readonly written: Map<number, Set<string>>[] = SETS.map(() => new Map());
  readonly #isDropped = SETS.map(() => false);
  readonly #held: number[] = [];
  #marks: { readonly number: number; readonly set: number; readonly hides: boolean }[] = [];
  #puts = 0;
  latest = 0;

  async carryOut(store: Store, { do: action, set: at, x }: Step): Promise<void> {
    const set = SETS[at] ?? ROADS;
    const rect = { minX: x, minY: 5, maxX: x, maxY: 5 };
    if (action === 'put' || action === 'late') {
      this.latest = (await store.ticket(set.layer)).number;
      this.#held.push(this.latest);
      const ticket = action === 'late' ? this.#held[0] : this.latest;
      await this.#put(store, at, x, ticket ?? 0);
    }
    if (action === 'hide' || action === 'outdate') {
      const places = [{ gridSet: set.gridSet, z: Z, rect }];
      this.latest = await raise(store, set.layer, places, { type: action, at: 5 });
      this.#marks.push({ number: this.latest, set: at, hides: action === 'hide' });
    }
    if (action === 'clean') {
      for (const { number, set: of, hides } of this.#marks) {
        const edit = hides ? { type: 'remove' as const } : { type: 'outdate' as const, at: 5 };
        await store.edit(SETS[of] ?? ROADS, Z, ALL, { ...edit, before: number });
        await closeMark(store, number);
      }
      this.#marks = [];
    }
    if (action === 'drop') await store.drop(set.layer, set);
    if (action === 'drop') this.#isDropped[at] = true;
    if (action === 'evict') await store.edit(set, Z, rect, { type: 'remove' });
    const confirmed = { createdAt: 9, freshUntil: null, madeBy: null, ticket: this.latest };
    if (action === 'confirm')
      await store.edit(set, Z, rect, { type: 'confirm', ...confirmed }).catch(falseIfOutdated);
  }

  async #put(store: Store, at: number, x: number, ticket: number): Promise<void> {
    const content = `${++this.#puts} ${'x'.repeat(200)}`;
    if (this.#isDropped[at]) this.written[at]?.clear();
    this.#isDropped[at] = false;
    const contents = this.written[at]?.get(x) ?? new Set();
    this.written[at]?.set(x, contents.add(content));
    await store.put(SETS[at] ?? ROADS, Z, [tile(x, 5, content)], ticket).catch(falseIfOutdated);
  }
}

it(`a rebuilt index shows no tile as fresh, none of a tile set that was dropped and filled again, and counts right (seed ${SEED})`, () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const root = newRoot();
      const history = new History();
      await using(root, async (store) => {
        for (const one of steps) await history.carryOut(store, one);
        await history.carryOut(store, { do: 'put', set: 0, x: 126 });
      });
      const [damage = () => {}] = Object.values(DAMAGES);
      damage(join(root, 'index.sqlite'));
      for (const end of ['-wal', '-shm']) rmSync(join(root, `index.sqlite${end}`), { force: true });
      await rebuild(root);
      await using(root, async (store) => {
        for (const [at, set] of SETS.entries()) {
          for (const { x, y } of await collect(tilesIn(store, set, Z))) {
            const shown = await store.get(set, { z: Z, x, y });
            expect(shown?.freshUntil).toBeLessThan(0);
            expect(history.written[at]?.get(x)).toContain(shown?.bytes.toString());
          }
          expect(sortedPages(await collect(pagesIn(store, { set })))).toEqual(await recount(store, set));
        }
        const { number } = await store.ticket(ROADS.layer);
        expect(number).toBeGreaterThan(history.latest);
        await store.put(ROADS, Z, [tile(127, 5, 'new')], number);
        expect(await store.get(ROADS, { z: Z, x: 127, y: 5 })).toMatchObject({
          bytes: Buffer.from('new'),
          freshUntil: null,
        });
        await raise(store, ROADS.layer, null, { type: 'hide', at: 5 });
        expect((await collect(tilesIn(store, ROADS, Z))).every(({ hidden }) => hidden)).toBe(true);
      });
    }),
    { numRuns: inLength(5, 1000), seed: SEED },
  ));
