/** The work for one metatile, counted: nothing may be done twice. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import sharp from 'sharp';
import { afterEach, expect, it, vi } from 'vitest';
import { MetatileCutter } from '../src/raster/metatile-cutter.ts';
import type { CutJob } from '../src/raster/tile-cutter.ts';
import { packTiles } from '../src/storage/pack-tiles.ts';
import { openSegmentWriting } from '../src/storage/segments/segment-writing.ts';
import type { Store } from '../src/storage/store.ts';
import { evenGutter } from './fixtures/layers.ts';
import { paintImage } from './fixtures/pictures.ts';
import { pipelineHarnesses } from './fixtures/pipeline-harness.ts';

const open = pipelineHarnesses();
const GRID = { columns: 4, rows: 4, tileWidth: 256, tileHeight: 256, gutter: evenGutter(0) };

afterEach(() => {
  vi.restoreAllMocks();
});

async function jobOf(shift: number): Promise<CutJob> {
  // Half of it a sea, half of it land with other lines for each shift.
  const { pixels } = paintImage(1024, 1024, (x, y) =>
    y < 512 ? [120, 160, 200, 255] : [(x + shift) & 63, (x + y) & 31, 90, 255],
  );
  const bytes = await sharp(pixels, { raw: { width: 1024, height: 1024, channels: 4 } })
    .png()
    .toBuffer();
  return {
    picture: { kind: 'encoded', bytes, mediaType: 'image/png' },
    grid: GRID,
    format: { mediaType: 'image/png' },
  };
}

it('a metatile is decoded once, and each unknown tile is encoded once', async () => {
  const cutter = new MetatileCutter();
  await cutter.cut(await jobOf(0));
  // Eight of sixteen are sea, which is encoded once.
  expect(cutter.counts).toMatchObject({ decodes: 1, knownResponses: 0 });
  const { encodes, knownTiles } = cutter.counts;
  expect(encodes + knownTiles).toBe(1 + 8);
  await cutter.cut(await jobOf(0));
  expect(cutter.counts).toMatchObject({ decodes: 1, encodes, knownTiles, knownResponses: 1 });
  await cutter.cut(await jobOf(5));
  expect(cutter.counts.decodes).toBe(2);
  expect(cutter.counts.encodes - encodes).toBeLessThanOrEqual(8);
});

it('a JPEG metatile is cut into JPEG tiles without decoding', async () => {
  const { pixels } = paintImage(1024, 1024, (x, y) => [(x * y) & 255, x & 255, y & 255, 255]);
  const bytes = await sharp(pixels, { raw: { width: 1024, height: 1024, channels: 4 } })
    .jpeg()
    .toBuffer();
  const cutter = new MetatileCutter();
  const picture = { kind: 'encoded', bytes, mediaType: 'image/jpeg' } as const;
  const tiles = await cutter.cut({ picture, grid: GRID, format: { mediaType: 'image/jpeg' } });
  expect(tiles).toHaveLength(16);
  expect(cutter.counts).toMatchObject({ decodes: 0, cutJpegs: 1, encodes: 16 });
});

it('a metatile of a reseed needs one request to the source and three to the store', async () => {
  const harness = open();
  const asked: string[] = [];
  for (const [name, method] of Object.entries(harness.store)) {
    if (typeof method !== 'function') continue;
    const watched = (...args: unknown[]) => {
      asked.push(name);
      return (method as (...all: unknown[]) => unknown)(...args);
    };
    Object.assign(harness.store as Store, { [name]: watched });
  }
  await harness.renew('all', 4, 0, 0);
  expect(asked).toEqual(['ticket', 'list', 'put']);
  expect(harness.source.requests).toHaveLength(1);
});

it('metatiles are written with a row for each of their packs and a few statements more', () => {
  const ran: string[] = [];
  countStatements(ran);
  const root = mkdtempSync(join(tmpdir(), 'work-per-metatile-'));
  try {
    const writing = openSegmentWriting({ root, sweepBytesPerSecond: 1 });
    const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
    const metatile = (column: number) => {
      const tiles = Array.from({ length: 16 }, (_, i) => ({
        x: column * 4 + (i % 4),
        y: i >> 2,
        bytes: Buffer.from(i < 8 ? 'sea' : `land ${column} ${i}`),
        createdAt: 1,
      }));
      return { set, z: 6, ticket: 0, at: 1, ...packTiles(tiles) };
    };
    writing.put(metatile(0));
    for (const columns of [[1], [2, 3, 4]]) {
      ran.length = 0;
      writing.putTogether(columns.map(metatile));
      expect(ran.filter((sql) => /\b(INTO|UPDATE) packs\b/.test(sql))).toHaveLength(columns.length);
      expect(ran.length).toBeLessThanOrEqual(8 * columns.length + 6);
    }
    writing.close();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

/** Every statement that any connection of this thread prepares and runs. */
function countStatements(ran: string[]): void {
  const { prepare } = Database.prototype;
  vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database.Database, sql: string) {
    const statement = prepare.call(this, sql);
    for (const name of ['run', 'get', 'all'] as const) {
      const run = statement[name].bind(statement) as (...args: unknown[]) => unknown;
      Object.assign(statement, {
        [name]: (...args: unknown[]) => {
          ran.push(sql);
          return run(...args);
        },
      });
    }
    return statement;
  });
}
