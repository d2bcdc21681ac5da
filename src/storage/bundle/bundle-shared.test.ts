import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { recount, sortedPages, tile } from '../../../test/contracts/tile-store-tools.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { schemaKit } from '../../lib/schemas.ts';
import type { TileStore } from '../tile-store.ts';
import { openBundleStore } from './bundle-store.ts';
import { bundleStoreOptions } from './bundle-store-options.ts';

const set = { layer: 'roads', gridSet: 'EPSG:4326', format: 'image/png', parametersId: null };
const options = bundleStoreOptions(schemaKit).parse({ type: 'bundle' });
const SEA = 's'.repeat(100);
const ICE = 'i'.repeat(100);
const SIDE = 32;

function rootFolder(): string {
  const root = mkdtempSync(join(tmpdir(), 'tilewarden-shared-'));
  whenOver(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

function bundleIn(root: string): string {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
  return join(root, files.find((file) => /0_0.*\.sqlite$/.test(file)) ?? '');
}

/** What the one bundle holds when the store has been used and closed. */
async function after(root: string, use: (store: TileStore) => Promise<void>) {
  const store = await openBundleStore(options, { root, log: silentLogger, clock: systemClock });
  try {
    await use(store);
    const pages = [];
    for await (const page of store.pages(set)) pages.push(page);
    expect(sortedPages(pages)).toEqual(await recount(store, set));
  } finally {
    await store.close();
  }
  const path = bundleIn(root);
  const db = new Database(path, { readonly: true });
  const shared = db.prepare('SELECT count(*) FROM shared').pluck().get();
  db.close();
  return { shared, bytes: statSync(path).size };
}

function square(content: (x: number, y: number) => string) {
  return Array.from({ length: SIDE * SIDE }, (_, n) => [n % SIDE, Math.floor(n / SIDE)] as const).map(
    ([x, y]) => tile(x, y, content(x, y)),
  );
}

async function contentAt(store: TileStore, x: number, y: number): Promise<string | undefined> {
  return (await store.get(set, { z: 9, x, y }))?.bytes.toString();
}

it('equal small tiles of a bundle take the room of one, and each is read, counted and removed by itself', async () => {
  const root = rootFolder();
  const seeded = await after(root, async (store) => {
    const change = await store.putMany(
      set,
      9,
      square(() => SEA),
      0,
    );
    expect(change).toEqual({ tiles: SIDE * SIDE, bytes: SIDE * SIDE * SEA.length });
  });
  expect(seeded.shared).toBe(1);
  expect(seeded.bytes).toBeLessThan(0.5 * SIDE * SIDE * SEA.length);
  const changed = await after(root, async (store) => {
    expect(await contentAt(store, 5, 6)).toBe(SEA);
    expect(await store.putMany(set, 9, [tile(5, 6, 'land')], 0)).toEqual({ tiles: 0, bytes: 4 - SEA.length });
    const strip = { minX: 0, minY: 0, maxX: 9, maxY: 0 };
    expect(await store.edit(set, 9, strip, { type: 'remove' })).toEqual({
      tiles: 10,
      bytes: 10 * SEA.length,
    });
    expect([await contentAt(store, 5, 6), await contentAt(store, 5, 0)]).toEqual(['land', undefined]);
    expect(await contentAt(store, 31, 31)).toBe(SEA);
  });
  expect(changed.shared).toBe(1);
});

it('bytes that no tile shares any more leave the bundle with the next rest', async () => {
  const root = rootFolder();
  await after(
    root,
    async (store) =>
      void (await store.putMany(
        set,
        9,
        square(() => SEA),
        0,
      )),
  );
  const replaced = await after(root, async (store) => {
    await store.putMany(
      set,
      9,
      square((x) => (x < SIDE / 2 ? ICE : `${x}`)),
      0,
    );
    expect([await contentAt(store, 0, 1), await contentAt(store, 30, 1)]).toEqual([ICE, '30']);
  });
  expect(replaced.shared).toBe(1 + SIDE / 2);
});

it('bytes that cannot be removed now do not keep a bundle from its rest', async () => {
  const root = rootFolder();
  const fill = (content: string) => (store: TileStore) =>
    store.putMany(
      set,
      9,
      square(() => content),
      0,
    );
  await after(root, async (store) => void (await fill(SEA)(store)));
  const db = new Database(bundleIn(root));
  db.exec(`CREATE TRIGGER stuck BEFORE DELETE ON shared BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`);
  db.close();
  await after(root, async (store) => void (await fill(ICE)(store)));
  expect(existsSync(`${bundleIn(root)}-wal`)).toBe(false);
});
