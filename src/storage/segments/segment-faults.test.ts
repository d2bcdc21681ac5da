import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { started } from '../../../scripts/steps.mjs';
import {
  closeMark,
  collect,
  raise,
  recount,
  sortedPages,
  tile,
  tilesIn,
} from '../../../test/contracts/tile-store-tools.ts';
import { inLength } from '../../../test/fixtures/length.ts';
import { FROM_SOURCES } from '../../../test/fixtures/processes.ts';
import { openStoreHere, openStoreIn } from '../../../test/fixtures/segment-store.ts';
import { countStored, pagesIn, readNow } from '../read-tiles.ts';
import type { Store } from '../store.ts';

const set = { layer: 'shared', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const all = { minX: 0, minY: 0, maxX: 255, maxY: 255 };
const script = new URL('../../../test/fixtures/segment-store-process.ts', import.meta.url);
const options = { maxOpenSegments: 16, sweepBytesPerSecond: 2 ** 29, segmentBytes: 100_000 };

const folder = mkdtempSync(join(tmpdir(), 'segment-faults-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let root: string;
const opened: Store[] = [];

async function open(): Promise<Store> {
  const store = await openStoreIn(root, options);
  opened.push(store);
  return store;
}

async function closeAll(): Promise<void> {
  for (const store of opened.splice(0)) await store.close();
}

beforeEach(() => {
  root = mkdtempSync(join(folder, 'root-'));
});
afterEach(closeAll);

const contentAt = async (store: Store, x: number, y: number) =>
  (await store.get(set, { z: 8, x, y }))?.bytes.toString() ?? null;

function segmentFiles(): string[] {
  const names = readdirSync(join(root, 'segments'), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.tiles')).map((name) => join(root, 'segments', name));
}

async function isCountedRight(store: Store): Promise<void> {
  expect(sortedPages(await collect(pagesIn(store, { set })))).toEqual(await recount(store, set));
}

async function startWriter(): Promise<ChildProcess> {
  const child = await started(fork(script, [root], { execArgv: FROM_SOURCES }));
  await once(child, 'message');
  return child;
}

it('no tile of another process outlives a truncation that is newer', async () => {
  const ours = await open();
  const child = await startWriter();
  const newest = async () =>
    Math.max(0, ...(await collect(tilesIn(ours, set, 8))).map(({ createdAt }) => createdAt));
  const truncations = [
    () => ours.edit(set, 8, all, { type: 'remove' }),
    () => ours.drop(set.layer, null),
    () => ours.drop(set.layer, set),
  ];
  for (let round = 0; round < inLength(3, 60); round++) {
    const generation = await raise(ours, set.layer);
    await truncations[round % truncations.length]?.();
    await expect.poll(newest, { interval: 1 }).toBeGreaterThanOrEqual(generation);
    for await (const { createdAt } of tilesIn(ours, set, 8))
      expect(createdAt).toBeGreaterThanOrEqual(generation);
  }
  const exited = once(child, 'exit');
  child.send('stop');
  expect((await exited)[0]).toBe(0);
  await isCountedRight(ours);
});

it('tiles that are replaced and removed give their space back, and the others stay', async () => {
  const store = await open();
  await store.put(set, 8, [tile(200, 200, 'stays')], 0);
  const large = (round: number) =>
    Array.from({ length: 16 }, (_, x) => tile(x, 1, `${round} ${'x'.repeat(9000)}`));
  for (let round = 0; round < 30; round++) await store.put(set, 8, large(round), 0);
  const size = () => segmentFiles().reduce((sum, file) => sum + statSync(file).size, 0);
  await expect.poll(size, { timeout: 60_000 }).toBeLessThan(600_000);
  expect(await contentAt(store, 3, 1)).toBe(`29 ${'x'.repeat(9000)}`);
  await store.edit(set, 8, { minX: 0, minY: 0, maxX: 20, maxY: 20 }, { type: 'remove' });
  await expect.poll(size, { timeout: 60_000 }).toBeLessThan(10_000);
  expect(await contentAt(store, 200, 200)).toBe('stays');
  await isCountedRight(store);
});

it.each([
  ['bytes that were flipped', (file: string) => overwrite(file, 400)],
  ['a file that lost its end in a power cut', (file: string) => truncateSync(file, 300)],
  ['a file that is gone', (file: string) => rmSync(file)],
])('a tile is not shown, and can be stored again: %s', async (_, damage) => {
  const first = await open();
  await first.put(set, 8, [tile(1, 1, 'a'.repeat(500)), tile(2, 1, 'b')], 0);
  await closeAll();
  segmentFiles().forEach(damage);
  const store = await open();
  expect(readNow(store, set, { z: 8, x: 1, y: 1 })).toBeUndefined();
  expect(await contentAt(store, 1, 1)).toBeNull();
  // The upkeep may have found the other one by now.
  expect((await countStored(store, set, 8, all)).tiles).toBeLessThan(2);
  await store.put(set, 8, [tile(1, 1, 'again')], 0);
  expect(await contentAt(store, 1, 1)).toBe('again');
});

it.each([
  ['missing', false],
  ['an empty mount point', true],
])('no tile leaves the index while the folder of segments is %s', async (_, isThere) => {
  const row = { minX: 0, minY: 1, maxX: 9, maxY: 1 };
  const content = (x: number) => `${x} ${'x'.repeat(100)}`;
  const before = openStoreHere(root).store;
  await before.put(
    set,
    8,
    Array.from({ length: 10 }, (_, x) => tile(x, 1, content(x))),
    0,
  );
  await before.edit(set, 8, { ...row, maxX: 5 }, { type: 'remove' });
  await before.close();
  const [segments, away] = [join(root, 'segments'), join(root, 'away')];
  renameSync(segments, away);
  if (isThere) mkdirSync(segments);
  const { store, writing } = openStoreHere(root);
  opened.push(store);
  for (let x = 6; x < 10; x++) expect(() => store.get(set, { z: 8, x, y: 1 })).toThrow('failed');
  for (let step = 0; step < 5; step++) expect(() => writing.upkeep()).toThrow('segments');
  await expect(store.put(set, 8, [tile(1, 1, 'new')], 0)).rejects.toThrow('segments');
  rmSync(segments, { recursive: true, force: true });
  renameSync(away, segments);
  for (let step = 0; step < 5; step++) writing.upkeep();
  for (let x = 6; x < 10; x++) expect(await contentAt(store, x, 1)).toBe(content(x));
});

it('of a segment that is missing only a few tiles a minute leave the index, when they are requested', async () => {
  const before = openStoreHere(root).store;
  await before.put(
    set,
    8,
    Array.from({ length: 10 }, (_, x) => tile(x, 1, 'tile')),
    0,
  );
  await before.close();
  for (const file of segmentFiles()) rmSync(file);
  const { store, writing } = openStoreHere(root);
  opened.push(store);
  for (let x = 0; x < 5; x++) expect(await contentAt(store, x, 1)).toBeNull();
  await expect(contentAt(store, 5, 1)).rejects.toThrow('lacks many');
  for (let step = 0; step < 5; step++) writing.upkeep();
  expect((await countStored(store, set, 8, all)).tiles).toBe(5);
  await store.edit(set, 8, all, { type: 'remove' });
  for (let step = 0; step < 5; step++) writing.upkeep();
  const index = new Database(join(root, 'index.sqlite'));
  expect(index.prepare('SELECT id FROM segments').all()).toEqual([]);
  index.close();
});

function overwrite(file: string, at: number): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.from('?'), 0, 1, at);
  closeSync(descriptor);
}

async function damageRow(): Promise<Store> {
  const first = await open();
  await first.put(set, 8, [tile(1, 1, 'one'), tile(2, 1, 'two'), tile(9, 9, 'beside')], 0);
  await closeAll();
  const db = new Database(join(root, 'index.sqlite'));
  const rows = db
    .prepare<[], { id: number; detail: Buffer }>('SELECT id, detail FROM packs WHERE x = 0')
    .all();
  for (const { id, detail } of rows) {
    detail.writeUInt8(detail.readUInt8(60) ^ 1, 60);
    db.prepare('UPDATE packs SET detail = ? WHERE id = ?').run(detail, id);
  }
  db.close();
  return open();
}

it('a damaged row names nothing, and its page is counted right when tiles are stored again', async () => {
  const store = await damageRow();
  expect(await contentAt(store, 1, 1)).toBeNull();
  expect(await contentAt(store, 9, 9)).toBe('beside');
  await store.put(set, 8, [tile(1, 1, 'again')], 0);
  expect(await contentAt(store, 1, 1)).toBe('again');
  await isCountedRight(store);
});

it('a damaged row is not counted any more when its tiles are removed', async () => {
  const store = await damageRow();
  await store.edit(set, 8, { minX: 0, minY: 0, maxX: 7, maxY: 7 }, { type: 'remove' });
  await isCountedRight(store);
  expect((await store.usage()).levels).toMatchObject([{ tiles: 1, bytes: 6, pages: 1 }]);
  await store.edit(set, 8, all, { type: 'remove' });
  expect((await store.usage()).levels).toEqual([]);
});

it('a truncation takes effect after an index of earlier was restored', async () => {
  const first = await open();
  await first.put(set, 8, [tile(1, 1, 'first')], (await first.ticket(set.layer)).number);
  await closeAll();
  const backup = join(folder, 'backup.sqlite');
  cpSync(join(root, 'index.sqlite'), backup);
  const second = await open();
  for (let round = 0; round < 20; round++) {
    const { number } = await second.ticket(set.layer);
    await second.put(set, 8, [tile(1, 1, `later ${round}`), tile(2, 1, 'x'.repeat(30_000))], number);
  }
  await closeAll();
  cpSync(backup, join(root, 'index.sqlite'));
  const store = await open();
  const files = new Map(segmentFiles().map((file) => [file, readFileSync(file)]));
  const { number } = await store.ticket(set.layer);
  await store.put(set, 8, [tile(3, 1, 'after')], number);
  expect(await contentAt(store, 3, 1)).toBe('after');
  for (const [file, bytes] of files) expect(readFileSync(file).equals(bytes)).toBe(true);
  const before = await raise(store, set.layer, null, { type: 'hide', at: 1 });
  expect([await contentAt(store, 1, 1), await contentAt(store, 3, 1)]).toEqual([null, null]);
  expect(await store.edit(set, 8, all, { type: 'remove', before })).toMatchObject({ tiles: 2 });
});

it('two processes on an index of earlier store their tiles in segments of their own', async () => {
  const first = await open();
  await first.put(set, 8, [tile(1, 1, 'first')], 0);
  await closeAll();
  const backup = join(folder, 'earlier.sqlite');
  cpSync(join(root, 'index.sqlite'), backup);
  for (let round = 0; round < 3; round++) {
    const later = await open();
    await later.put(set, 8, [tile(1, 1, `later ${round}`)], 0);
    await closeAll();
  }
  cpSync(backup, join(root, 'index.sqlite'));
  const stores = await Promise.all([open(), open(), open()]);
  await Promise.all(stores.map((store, x) => store.put(set, 8, [tile(x, 9, `of ${x}`)], 0)));
  for (const x of [0, 1, 2]) expect(await contentAt(await open(), x, 9)).toBe(`of ${x}`);
});

it('marks of the same places are joined, and each is closed by itself', async () => {
  const store = await open();
  const at = { gridSet: set.gridSet, z: 8, rect: { minX: 0, minY: 0, maxX: 7, maxY: 7 } };
  const effect = { type: 'hide' as const, at: 1 };
  const write = async (content: string) =>
    store.put(set, 8, [tile(1, 1, content)], (await store.ticket(set.layer, at)).number);
  await write('oldest');
  const first = await raise(store, set.layer, [at], effect);
  await write('between');
  const second = await raise(store, set.layer, [at], effect);
  expect(await contentAt(store, 1, 1)).toBeNull();
  await closeMark(store, second);
  expect(await contentAt(store, 1, 1)).toBe('between');
  const third = await raise(store, set.layer, [at], effect);
  await closeMark(store, first);
  expect(await contentAt(store, 1, 1)).toBeNull();
  expect((await store.marks()).map(({ number }) => number)).toEqual([third]);
  await closeMark(store, third);
  expect(await contentAt(store, 1, 1)).toBe('between');
  await expect(store.put(set, 8, [tile(1, 1, 'late')], first)).rejects.toMatchObject({
    code: 'generation-stale',
  });
});

it.each([
  ['is not one', 'garbage '.repeat(1000)],
  ['has a damaged beginning', null],
])('a store whose index %s does not open, and says what to do', async (_, content) => {
  await open();
  await closeAll();
  const path = join(root, 'index.sqlite');
  if (content === null) overwrite(path, 100);
  else writeFileSync(path, content);
  await expect(open()).rejects.toMatchObject({
    code: 'store-failed',
    message: expect.stringContaining('from a backup'),
  });
});
