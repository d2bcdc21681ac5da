import {
  closeSync,
  cpSync,
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
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  collect,
  NOTHING,
  recount,
  sortedPages,
  tile,
  tilesIn,
} from '../../../test/contracts/tile-store-tools.ts';
import { makeFormerBundle } from '../../../test/fixtures/former-bundle.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { schemaKit } from '../../lib/schemas.ts';
import type { TileStore } from '../tile-store.ts';
import { keyOfTile } from './bundle-grid.ts';
import { bundleLayout } from './bundle-layout.ts';
import { openBundleStore } from './bundle-store.ts';
import { bundleStoreOptions } from './bundle-store-options.ts';
import { BundleWriting } from './bundle-writing.ts';

const set = { layer: 'roads', gridSet: 'EPSG:4326', format: 'image/png', parametersId: null };
const options = bundleStoreOptions(schemaKit).parse({ type: 'bundle' });
const content = 'the pixels of a tile '.repeat(300);

let folder: string;
let root: string;
let store: TileStore;
let warnings: string[];

const log: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (_, message) => warnings.push(message),
  error: (_, message) => warnings.push(message),
  child: () => log,
};

async function open(): Promise<void> {
  store = await openBundleStore(options, { root, log, clock: systemClock });
}

/** The files of all bundles, when the store is closed. */
function bundleFiles(): string[] {
  const names = readdirSync(join(root, 'layers'), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /\.sqlite/.test(name)).map((name) => join(root, 'layers', name));
}

function onlyBundle(): string {
  const [file, ...others] = bundleFiles();
  if (file === undefined || others.length > 0) throw new Error('expected one bundle');
  return file;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bundle-damage-'));
  root = join(folder, 'whole');
  await open();
  await store.putMany(set, 3, [tile(1, 1, content), tile(2, 1, 'small'), tile(3, 1, content)], 0);
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => {
  warnings = [];
  root = mkdtempSync(join(folder, 'root-'));
  cpSync(join(folder, 'whole'), root, { recursive: true });
});
afterEach(() => store.close());

it.each([
  ['is not a database', (file: string) => writeFileSync(file, 'not a database at all '.repeat(1000))],
  ['is empty', (file: string) => truncateSync(file, 0)],
  ['was cut short', (file: string) => truncateSync(file, 4096)],
  [
    'has noise in the middle',
    (file: string) => overwrite(file, 2048, Buffer.alloc(statSync(file).size - 2048, 0xa5)),
  ],
])('a store treats a bundle that %s as absent, warns once, and takes tiles again', async (_, damage) => {
  damage(onlyBundle());
  await open();
  expect(await store.get(set, { z: 3, x: 1, y: 1 })).toBeNull();
  expect(await store.get(set, { z: 3, x: 2, y: 1 })).toBeNull();
  expect(warnings).toEqual(['moved a damaged bundle aside for a day; its tiles will be created again']);
  await store.putMany(set, 3, [tile(1, 1, 'again')], 0);
  expect((await store.get(set, { z: 3, x: 1, y: 1 }))?.bytes.toString()).toBe('again');
  expect(sortedPages(await collect(store.pages(set)))).toEqual(await recount(store, set));
});

it('a store neither reads nor removes a bundle that another version has written', async () => {
  const file = onlyBundle();
  const db = new Database(file);
  db.pragma('user_version = 7');
  db.close();
  const before = readFileSync(file);
  await open();
  const read = store.get(set, { z: 3, x: 1, y: 1 });
  await expect(read).rejects.toThrow('has format 7, and this version of Tilewarden reads formats 5 and 6');
  await expect(store.putMany(set, 3, [tile(1, 1, 'new')], 0)).rejects.toMatchObject({ code: 'store-failed' });
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(warnings).toEqual([]);
});

it('a store shows no tile in the place of another, whatever bit of its row has flipped', async () => {
  const db = new Database(onlyBundle());
  db.exec('UPDATE tile SET key = key + 1 WHERE key = (SELECT max(key) FROM tile)');
  db.close();
  await open();
  expect(await store.get(set, { z: 3, x: 4, y: 1 })).toBeNull();
  expect(await store.get(set, { z: 3, x: 2, y: 1 })).toMatchObject({ bytes: Buffer.from('small') });
});

it('a store shows nothing of a bundle that was moved to the folder of another', async () => {
  const folder = dirname(onlyBundle());
  renameSync(folder, folder.replace(/0_0$/, '1_0'));
  await open();
  expect(await store.get(set, { z: 3, x: 129, y: 1 })).toBeNull();
  expect(await store.get(set, { z: 3, x: 130, y: 1 })).toBeNull();
});

it('a store reads a bundle of version 0.2 and writes to it, and its tiles are older than all others', async () => {
  makeFormerBundle(onlyBundle());
  await open();
  const at = (x: number) => store.get(set, { z: 3, x, y: 1 });
  expect((await at(2))?.bytes.toString()).toBe('small');
  const place = { gridSet: set.gridSet, z: 3, rect: { minX: 0, minY: 0, maxX: 7, maxY: 7 } };
  const { number } = await store.ticket(set.layer, place);
  await store.putMany(set, 3, [tile(2, 1, 'new')], number);
  expect((await at(1))?.bytes.toString()).toBe(content);
  expect((await at(2))?.bytes.toString()).toBe('new');
  const removed = await store.edit(set, 3, place.rect, { type: 'remove', before: number });
  expect(removed.tiles).toBe(2);
  expect((await at(2))?.bytes.toString()).toBe('new');
});

it.each([
  ['are lost', () => rmSync(join(root, 'tickets.sqlite'))],
  [
    'and the generations are lost',
    () => ['tickets', 'generations'].map((name) => rmSync(join(root, `${name}.sqlite`))),
  ],
  ['are damaged', () => writeFileSync(join(root, 'tickets.sqlite'), 'not a database '.repeat(1000))],
  [
    'went back in a power cut',
    () => {
      const db = new Database(join(root, 'tickets.sqlite'));
      db.exec('UPDATE counter SET last = 1');
      db.close();
    },
  ],
])('a store issues later tickets than before when the counted ones %s', async (_, lose) => {
  const place = { gridSet: set.gridSet, z: 3, rect: { minX: 0, minY: 0, maxX: 7, maxY: 7 } };
  await open();
  const before = await store.ticket(set.layer, place);
  await store.close();
  lose();
  await open();
  expect((await store.ticket(set.layer, place)).number).toBeGreaterThan(before.number);
});

it('a damaged bundle is kept aside', async () => {
  writeFileSync(onlyBundle(), 'not a database at all '.repeat(1000));
  await open();
  expect(await store.get(set, { z: 3, x: 1, y: 1 })).toBeNull();
  expect(readdirSync(join(root, 'damaged'))).toHaveLength(1);
});

it('a damaged bundle is replaced when a writer is the first to notice', async () => {
  writeFileSync(onlyBundle(), 'not a database at all '.repeat(1000));
  await open();
  expect(await store.putMany(set, 3, [tile(7, 1, 'fresh')], 0)).toEqual({ tiles: 1, bytes: 5 });
  expect(await store.get(set, { z: 3, x: 1, y: 1 })).toBeNull();
  expect(warnings).toEqual(['moved a damaged bundle aside for a day; its tiles will be created again']);
});

it('a tile with damaged bytes is removed, and its neighbours are kept', async () => {
  const file = onlyBundle();
  overwrite(file, readFileSync(file).indexOf('the pixels of a tile ', 6000), Buffer.from('torn'));
  await open();
  const found = await Promise.all([1, 2, 3].map((x) => store.get(set, { z: 3, x, y: 1 })));
  expect(found.filter((tile) => tile === null)).toHaveLength(1);
  expect(warnings).toEqual(['removed a damaged tile; it will be created again']);
  expect(await collect(tilesIn(store, set, 3))).toHaveLength(2);
  expect(sortedPages(await collect(store.pages(set)))).toEqual(await recount(store, set));
});

it('a tile that only a reader found damaged stays', () => {
  const writing = new BundleWriting(bundleLayout(root), () => {});
  expect(writing.discardTile(onlyBundle(), keyOfTile(1, 1))).toEqual(NOTHING);
  writing.close();
});

it('a closed store has one file for each bundle, and no log', async () => {
  await open();
  await store.putMany(set, 3, [tile(4, 1, content)], 0);
  await store.get(set, { z: 3, x: 4, y: 1 });
  await store.close();
  expect(bundleFiles()).toEqual([expect.stringMatching(/\.sqlite$/)]);
});

it('the space of deleted tiles returns to the file system', async () => {
  await open();
  const many = Array.from({ length: 256 }, (_, at) => tile(at % 16, 16 + Math.floor(at / 16), content));
  await store.putMany(set, 3, many, 0);
  await store.close();
  const before = statSync(onlyBundle()).size;
  await open();
  await store.edit(set, 3, { minX: 0, minY: 16, maxX: 15, maxY: 31 }, { type: 'remove' });
  await store.close();
  expect(statSync(onlyBundle()).size).toBeLessThan(before - 250 * content.length);
});

function overwrite(file: string, at: number, bytes: Buffer): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}
