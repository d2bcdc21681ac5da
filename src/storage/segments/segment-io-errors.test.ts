/** A file call of a small history fails, each in turn: readers see only right tiles, and the store goes on. */
import fs, { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  closeMark,
  collect,
  raise,
  recount,
  sortedPages,
  tile,
} from '../../../test/contracts/tile-store-tools.ts';
import { openStoreHere } from '../../../test/fixtures/segment-store.ts';
import { pagesIn } from '../read-tiles.ts';
import type { Store } from '../store.ts';
import type { SegmentWriting } from './segment-writing.ts';

const faults = { calls: 0, first: 0, count: 0 };
const NAMES = ['openSync', 'writevSync', 'readSync', 'fsyncSync', 'mkdirSync', 'rmSync'] as const;
const working = Object.fromEntries(NAMES.map((name) => [name, fs[name]]));

// Also in modules that earlier files of this process have loaded.
beforeAll(() => {
  Object.assign(fs, ...NAMES.map(failing));
  syncBuiltinESMExports();
});
afterAll(() => {
  Object.assign(fs, working);
  syncBuiltinESMExports();
  rmSync(folder, { recursive: true, force: true });
});

function failing(name: (typeof NAMES)[number]) {
  const call = working[name] as (...parameters: unknown[]) => unknown;
  return {
    [name]: (...parameters: unknown[]) => {
      const number = ++faults.calls;
      if (number < faults.first || number >= faults.first + faults.count) return call(...parameters);
      // A write that fails may have written a part.
      if (name === 'writevSync') call(parameters[0], (parameters[1] as Buffer[]).slice(0, 1), parameters[2]);
      throw Object.assign(new Error(`EIO: i/o error, ${name}`), { code: 'EIO' });
    },
  };
}

const folder = mkdtempSync(join(tmpdir(), 'segment-io-'));

const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const dropped = { ...set, format: 'image/jpeg' };
const Z = 8;
const ROW = { minX: 0, minY: 0, maxX: 7, maxY: 0 };
const places = [{ gridSet: set.gridSet, z: Z, rect: ROW }];

/** The pictures that a reader may see; null: none. */
class History {
  readonly #store: Store;
  readonly #writing: SegmentWriting;
  #allowed: ReadonlySet<string | null> = new Set([null]);

  constructor({ store, writing }: ReturnType<typeof openStoreHere>) {
    this.#store = store;
    this.#writing = writing;
  }

  /** Failed: it may have been done or not. */
  async #step(work: () => Promise<unknown>, after: string | null): Promise<void> {
    const isDone = await work().then(
      () => true,
      () => false,
    );
    this.#allowed = new Set(isDone ? [after] : [...this.#allowed, after]);
    await this.#look();
  }

  async #look(): Promise<void> {
    // A read that fails shows nothing, and a source is asked.
    const look = async () =>
      (await this.#store.get(set, { z: Z, x: 1, y: 0 }))?.bytes.toString('utf8', 0, 6) ?? null;
    const shown = await look().catch(() => null);
    if (shown !== null) expect(this.#allowed).toContain(shown);
  }

  async put(text: string, of = set): Promise<void> {
    const work = async () => {
      const { number } = await this.#store.ticket(of.layer);
      await this.#store.put(of, Z, [tile(1, 0, text.padEnd(900, '.'))], number);
    };
    await (of === set ? this.#step(work, text) : work().catch(() => {}));
  }

  async truncate(): Promise<void> {
    let number = 0;
    await this.#step(async () => {
      number = await raise(this.#store, set.layer, places, { type: 'hide', at: 1 });
    }, null);
    const clean = () => this.#store.edit(set, Z, ROW, { type: 'remove', before: number });
    if (number > 0)
      await clean()
        .then(() => closeMark(this.#store, number))
        .catch(() => {});
    await this.#look();
  }

  async run(): Promise<void> {
    for (let round = 0; round < 7; round++) await this.put(`pic ${round} `);
    await this.put('other', dropped);
    await this.#upkeep();
    await this.truncate();
    await this.#store.drop(dropped.layer, dropped).catch(() => {});
    for (let round = 7; round < 10; round++) await this.put(`pic ${round} `);
    await this.#upkeep();
  }

  async #upkeep(): Promise<void> {
    for (let step = 0; step < 8; step++) {
      try {
        this.#writing.upkeep();
      } catch {
        // It is tried again.
      }
      await this.#look();
    }
  }

  /** The fault is gone. */
  async finish(): Promise<void> {
    await this.put('at end');
    expect((await this.#store.get(set, { z: Z, x: 1, y: 0 }))?.bytes.toString('utf8', 0, 6)).toBe('at end');
    await this.#upkeep();
    expect(sortedPages(await collect(pagesIn(this.#store, { set })))).toEqual(
      await recount(this.#store, set),
    );
  }
}

/** Files of the folder that are open: earlier files of this process may close others meanwhile. */
function openFiles(root: string): string[] {
  return readdirSync('/proc/self/fd')
    .map(targetOf)
    .filter((target) => target.startsWith(root));
}

function targetOf(descriptor: string): string {
  try {
    return readlinkSync(join('/proc/self/fd', descriptor));
  } catch {
    return '';
  }
}

it.each([1, 4])(
  'a store shows right tiles and goes on when %i file calls in a row fail, whichever they are',
  async (count) => {
    for (let first = 1, calls = Number.POSITIVE_INFINITY; first <= calls; first++) {
      const root = mkdtempSync(join(folder, 'root-'));
      const opened = openStoreHere(root);
      const history = new History(opened);
      Object.assign(faults, { calls: 0, first, count });
      await history.run();
      calls = faults.calls;
      faults.count = 0;
      await history.finish();
      await opened.store.close();
      expect([first, openFiles(root)]).toEqual([first, []]);
      rmSync(root, { recursive: true, force: true });
    }
    expect(faults.calls).toBeGreaterThan(50);
  },
);
