import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import Database from 'better-sqlite3';
import { beforeEach, expect, it } from 'vitest';
import { raise } from '../../test/contracts/tile-store-tools.ts';
import { createGate, eventually } from '../../test/fixtures/eventually.ts';
import { author, openTaskFixture, type TaskFixture } from '../../test/fixtures/task-fixture.ts';
import { temporaryFolder, whenOver } from '../../test/fixtures/when-over.ts';
import { TilewardenError } from '../domain/errors.ts';
import { silentLogger } from '../lib/logger.ts';
import type { StoreFiles } from '../storage/store.ts';
import { createExporter, type Exporter } from './exporter.ts';

const ORDER = { layer: 'roads', zoomStop: 2, archive: { type: 'mbtiles', parameters: {} } } as const;
const ME = author('me');

let folder: string;
let data: string;
beforeEach(() => {
  data = temporaryFolder();
  folder = join(data, 'exports');
  mkdirSync(folder);
});

/** With two cached tiles. `watch` stands before an export; `files`: those of the store. */
async function openFixture(
  watch: () => Promise<void> = async () => {},
  files?: StoreFiles,
): Promise<TaskFixture> {
  const fixture = await openTaskFixture({
    exporter(database): Exporter {
      const catalog = { stores: () => new Map(files && [['', { files } as never]]) };
      const exporter = createExporter({ data, node: null, database, catalog, log: silentLogger });
      return {
        ...exporter,
        async perform(work) {
          await watch();
          await exporter.perform(work);
        },
      };
    },
  });
  whenOver(() => fixture.close());
  const { store, tiles } = fixture.harness;
  if (files) Object.assign(tiles.bound.store, { files });
  for (const x of [0, 1])
    await store.put(tiles.set, 1, [{ x, y: 0, bytes: Buffer.from(`${x}`), createdAt: 1 }], 0);
  return fixture;
}

async function truncateFirst({ harness }: TaskFixture): Promise<void> {
  const { set } = harness.tiles;
  const rect = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
  await raise(harness.store, set.layer, [{ gridSet: set.gridSet, z: 1, rect }]);
  await harness.store.edit(set, 1, rect, { type: 'remove' });
}

function columnsIn(name: string | null): readonly unknown[] {
  const db = new Database(join(folder, name ?? ''), { readonly: true });
  const columns = db.prepare('SELECT tile_column FROM tiles ORDER BY 1').pluck().all();
  db.close();
  return columns;
}

it('an export is a task that ends with its tiles counted and its file kept under a name of its own', async () => {
  const { service, ended } = await openFixture();
  const done = await ended((await service.create(ORDER, ME)).id);
  expect(done).toMatchObject({
    state: 'done',
    outcome: 'ok',
    reason: null,
    tilesProcessed: 2n,
    tilesTotal: 2n,
  });
  expect(readdirSync(folder)).toEqual([done.file]);
  expect(columnsIn(done.file)).toEqual([0, 1]);
  expect(done.counters.bytes).toBe(readFileSync(join(folder, done.file ?? '')).length);
});

it('an export ordered after a truncation has none of the truncated tiles, though one was running', async () => {
  const gate = createGate();
  let begun = 0;
  const fixture = await openFixture(async () => {
    if (++begun === 1) await gate.opened;
  });
  const first = await fixture.service.create(ORDER, ME);
  await eventually('it runs', () => begun === 1);
  await truncateFirst(fixture);
  const second = await fixture.service.create(ORDER, ME);
  expect(second.id).not.toBe(first.id);
  gate.open();
  expect(columnsIn((await fixture.ended(second.id)).file)).toEqual([1]);
  expect(await fixture.ended(first.id)).toMatchObject({ state: 'aborted', file: null });
});

it('a whole file that a store did not take is handed over later, unless its tiles were truncated since', async () => {
  let fails = true;
  const names: string[] = [];
  const files: StoreFiles = {
    async put(name, path) {
      if (fails) throw new TilewardenError('store-failed', 'The object store is away.');
      names.push(name);
      rmSync(path);
    },
    read: async () => Readable.from([]),
    names: async () => names,
    remove: async () => {},
  };
  const fixture = await openFixture(undefined, files);
  const { id } = await fixture.service.create(ORDER, ME);
  const waits = await eventually(
    'it waits',
    () => fixture.service.get(id),
    (task) => task?.waitingFor != null,
  );
  expect(waits).toMatchObject({ state: 'running', reason: 'The object store is away.' });
  expect(readdirSync(folder)).toContain(`task-${id}.mbtiles.done`);
  await truncateFirst(fixture);
  fails = false;
  const done = await fixture.ended(id);
  expect(done).toMatchObject({ state: 'done', tilesProcessed: 1n });
  expect(names).toEqual([done.file]);
  expect(readdirSync(folder)).toEqual([]);
});

it('an export without a tile fails with its reason and leaves no file', async () => {
  const { service, ended } = await openFixture();
  const failed = await ended((await service.create({ ...ORDER, zoomStop: 0 }, ME)).id);
  expect(failed).toMatchObject({
    state: 'aborted',
    outcome: 'failed',
    reason: 'No tile of this selection is cached.',
  });
  expect(readdirSync(folder)).toEqual([]);
});

it('an export that is stopped with its server goes on after the next start', async () => {
  const gate = createGate();
  let begun = 0;
  const fixture = await openFixture(async () => {
    if (++begun === 1) await gate.opened;
  });
  const { id } = await fixture.service.create(ORDER, ME);
  await eventually('it runs', () => begun === 1);
  const restarted = fixture.restart();
  gate.open();
  await restarted;
  expect(await fixture.ended(id)).toMatchObject({ state: 'done', tilesProcessed: 2n });
});
