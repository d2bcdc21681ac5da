import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import { exportedPart, writeMbtiles } from '../../../test/fixtures/archives.ts';
import { layerNamed } from '../../../test/fixtures/http-app.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { formatOf } from '../../domain/format.ts';
import { exportTiles } from '../../export/export-tiles.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { createMemoryStore } from '../../storage/segments/memory-store.ts';
import type { OldCache } from '../old-cache.ts';
import { adoptOptions } from './adopt-options.ts';
import { openOldCaches } from './old-caches.ts';
import { openSqliteCache } from './open-sqlite-cache.ts';

const LAYER = layerNamed('states');
const OWNER = { layer: 'states', gridSet: 'EPSG:900913' };
const TILE = Buffer.from('a tile');

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tilewarden-sqlite-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
});

function read(
  cache: OldCache,
  z: number,
  x: number,
  y: number,
  parameters: ReadonlyMap<string, string> | null = null,
) {
  whenOver(() => cache.close());
  const [{ gridSet }] = LAYER.gridSubsets;
  const format = formatOf('image/png');
  if (!format) throw new Error('no format');
  return cache.read({ gridSet, format, parameters, values: parameters ?? new Map(), tile: { z, x, y } });
}

function change(file: string, sql: string): void {
  const db = new Database(join(folder, file));
  db.exec(sql);
  db.close();
}

describe("MapProxy's cache of type sqlite", () => {
  const cacheIn = (place: string, within: readonly string[] | null = null) =>
    openSqliteCache(
      { layout: 'mapproxy-sqlite', folder: place, gridSet: undefined, origin: 'nw', within },
      OWNER,
      systemClock,
    );

  function writeLevel(name: string, tile: unknown = TILE, time = '2020-03-01 12:00:00'): void {
    const db = new Database(join(folder, name));
    db.exec(
      'CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob, last_modified datetime)',
    );
    db.prepare('INSERT INTO tiles VALUES (3, 5, 2, ?, ?)').run(tile, time);
    db.close();
  }

  it.each(['3.mbtile', '3.mbtiles'])(
    'a MapProxy SQLite tile of zoom 3 in %s has its own time',
    async (name) => {
      writeLevel(name);
      const changedAt = new Date(2020, 2, 1, 12).getTime();
      expect(await read(cacheIn(folder), 3, 5, 2)).toEqual({ bytes: TILE, changedAt });
      expect(await read(cacheIn(folder), 3, 5, 3)).toBeNull();
      expect(await read(cacheIn(folder), 4, 5, 2)).toBeNull();
    },
  );

  it('a tile of a MapProxy SQLite cache is as old as its file if its time is invalid', async () => {
    writeLevel('3.mbtile', TILE, 'yesterday');
    const found = await read(cacheIn(folder), 3, 5, 2);
    expect(found?.changedAt).toBeGreaterThan(Date.UTC(2020, 6));
  });

  it.each([
    ['empty', Buffer.alloc(0)],
    ['text', 'a text'],
    ['a number', 5],
    ['huge', Buffer.alloc(33 * 2 ** 20)],
  ])('a MapProxy SQLite cache has no tile that is %s', async (_, tile) => {
    writeLevel('3.mbtile', tile);
    expect(await read(cacheIn(folder), 3, 5, 2)).toBeNull();
  });

  it('a MapProxy SQLite cache cannot be left by links, and may be restricted to folders', async () => {
    mkdirSync(join(folder, 'inside'));
    writeLevel('secret.mbtile');
    symlinkSync('../secret.mbtile', join(folder, 'inside/3.mbtile'));
    expect(await read(cacheIn(join(folder, 'inside')), 3, 5, 2)).toBeNull();
    const refused = read(cacheIn(folder, [join(folder, 'inside')]), 3, 5, 2);
    await expect(refused).rejects.toMatchObject({ code: 'store-failed' });
  });

  it.each([
    ['is no database', () => writeFileSync(join(folder, '3.mbtile'), 'x'.repeat(5000))],
    ['has other tables', () => change('3.mbtile', 'CREATE TABLE other (a)')],
    [
      'is locked',
      () => {
        writeLevel('3.mbtile');
        const db = new Database(join(folder, '3.mbtile'));
        whenOver(() => db.close());
        db.exec('BEGIN EXCLUSIVE');
      },
    ],
  ])('a MapProxy SQLite cache fails at one zoom only when its file %s', async (_, spoil) => {
    spoil();
    await expect(read(cacheIn(folder), 3, 5, 2)).rejects.toMatchObject({ code: 'store-failed' });
    expect(await read(cacheIn(folder), 2, 1, 1)).toBeNull();
  });

  it('a MapProxy SQLite cache has the tiles of a file that replaces another', async () => {
    writeLevel('3.mbtile', Buffer.from('before'));
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now };
    const options = {
      layout: 'mapproxy-sqlite',
      folder,
      gridSet: undefined,
      origin: 'nw',
      within: null,
    } as const;
    const cache = openSqliteCache(options, OWNER, clock);
    expect((await read(cache, 3, 5, 2))?.bytes.toString()).toBe('before');
    rmSync(join(folder, '3.mbtile'));
    writeLevel('3.mbtile', Buffer.from('after it'));
    now += 5000;
    expect((await read(cache, 3, 5, 2))?.bytes.toString()).toBe('after it');
  });
});

describe('an adopted MBTiles file', () => {
  const cacheOf = (file: string, within: readonly string[] | null = null, clock: Clock = systemClock) =>
    openSqliteCache(
      { layout: 'mbtiles', file: join(folder, file), gridSet: undefined, origin: 'sw', within },
      OWNER,
      clock,
    );

  function write(file: string, bytes: Buffer, seconds: number): void {
    writeMbtiles(join(folder, file), 'png', [{ z: 3, x: 5, y: 2, bytes }]);
    utimesSync(join(folder, file), seconds, seconds);
  }

  it('a tile of an adopted MBTiles file is as old as the file, also after another replaces it', async () => {
    write('a.mbtiles', TILE, 1000);
    let now = 0;
    const cache = cacheOf('a.mbtiles', null, { ...systemClock, monotonic: () => now });
    expect(await read(cache, 3, 5, 2)).toEqual({ bytes: TILE, changedAt: 1_000_000 });
    expect(await read(cache, 3, 5, 5)).toBeNull();
    write('new.mbtiles', Buffer.from('another'), 2000);
    renameSync(join(folder, 'new.mbtiles'), join(folder, 'a.mbtiles'));
    now += 5000;
    expect(await read(cache, 3, 5, 2)).toEqual({ bytes: Buffer.from('another'), changedAt: 2_000_000 });
  });

  it('an adopted MBTiles file may be a link, but not out of the folders that are allowed', async () => {
    mkdirSync(join(folder, 'inside'));
    write('secret.mbtiles', TILE, 1000);
    symlinkSync('../secret.mbtiles', join(folder, 'inside/a.mbtiles'));
    expect(await read(cacheOf('inside/a.mbtiles'), 3, 5, 2)).not.toBeNull();
    const refused = read(cacheOf('inside/a.mbtiles', [join(folder, 'inside')]), 3, 5, 2);
    await expect(refused).rejects.toMatchObject({ code: 'store-failed' });
  });

  it('an adopted MBTiles file has no tile beyond 32 MiB', async () => {
    write('a.mbtiles', Buffer.alloc(33 * 2 ** 20), 1000);
    expect(await read(cacheOf('a.mbtiles'), 3, 5, 2)).toBeNull();
  });
});

describe('an adopted GeoPackage', () => {
  const cacheWith = (options: { table?: string; origin?: 'sw' | 'nw'; folder?: string } = {}) =>
    openSqliteCache(
      {
        layout: 'geopackage',
        file: options.folder === undefined ? join(folder, 'a.gpkg') : undefined,
        folder: options.folder,
        table: options.table,
        gridSet: undefined,
        origin: options.origin ?? 'nw',
        within: null,
      },
      OWNER,
      systemClock,
    );

  /** As an export writes it: all zooms from 1 to 3. */
  async function writeGeopackage(name = 'a.gpkg'): Promise<void> {
    const store = createMemoryStore({ type: 'memory' });
    const { set, content } = exportedPart(LAYER, { layer: 'states' });
    for (const [z, x, y] of [
      [1, 0, 0],
      [3, 5, 2],
    ] as const) {
      await store.put(set, z, [{ x, y, bytes: TILE, createdAt: 1 }], await store.marks('states'));
    }
    const watched = { signal: new AbortController().signal, onProgress: () => {} };
    await exportTiles({ store, set, content, area: null, target: join(folder, name), ...watched });
  }

  it('an adopted GeoPackage has the tiles that an export has written', async () => {
    await writeGeopackage();
    expect((await read(cacheWith(), 3, 5, 2))?.bytes).toEqual(TILE);
    expect((await read(cacheWith({ table: 'tiles' }), 1, 0, 0))?.bytes).toEqual(TILE);
    expect(await read(cacheWith(), 3, 2, 5)).toBeNull();
    expect(await read(cacheWith(), 9, 5, 2)).toBeNull();
  });

  it('an adopted GeoPackage may be one file for each zoom', async () => {
    await writeGeopackage('3.gpkg');
    expect((await read(cacheWith({ folder }), 3, 5, 2))?.bytes).toEqual(TILE);
    expect(await read(cacheWith({ folder }), 1, 0, 0)).toBeNull();
  });

  it('an adopted GeoPackage counts rows from the bottom if its origin is there', async () => {
    await writeGeopackage();
    expect((await read(cacheWith({ origin: 'sw' }), 3, 5, 5))?.bytes).toEqual(TILE);
    expect(await read(cacheWith({ origin: 'sw' }), 3, 5, 2)).toBeNull();
  });

  it.each([
    ['UPDATE gpkg_tile_matrix SET tile_width = 512', 'zoom 1 has tiles of 512 × 256 pixels, not 256 × 256'],
    [
      'UPDATE gpkg_tile_matrix SET pixel_x_size = 1000 WHERE zoom_level = 2',
      'zoom 2 has pixels of 1000 units',
    ],
    ['UPDATE gpkg_tile_matrix_set SET min_x = 0', 'begins at x 0'],
    ['UPDATE gpkg_tile_matrix_set SET max_y = 0', 'begins at y 0'],
    ['UPDATE gpkg_tile_matrix_set SET srs_id = 4326', 'its tiles are in EPSG:4326, not EPSG:900913'],
    ['DELETE FROM gpkg_tile_matrix_set', 'it describes no tile matrix set'],
  ])('an adopted GeoPackage serves nothing and says why after %s', async (sql, why) => {
    await writeGeopackage();
    change('a.gpkg', sql);
    await expect(read(cacheWith(), 3, 5, 2)).rejects.toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining(why),
    });
  });

  it('an adopted GeoPackage with several tables, or without the named one, requires a table name', async () => {
    await writeGeopackage();
    change('a.gpkg', "INSERT INTO gpkg_contents (table_name, data_type) VALUES ('more', 'tiles')");
    const message = expect.stringContaining('more, tiles; `table` must name one of them');
    await expect(read(cacheWith(), 3, 5, 2)).rejects.toMatchObject({ message });
    await expect(read(cacheWith({ table: 'roads' }), 3, 5, 2)).rejects.toMatchObject({ message });
    expect(await read(cacheWith({ table: 'tiles' }), 3, 5, 2)).not.toBeNull();
  });

  it.each([
    ['is not there', () => {}],
    ['is a folder', () => mkdirSync(join(folder, 'a.gpkg'))],
    ['is no database', () => writeFileSync(join(folder, 'a.gpkg'), 'x'.repeat(5000))],
    ['has other tables', () => change('a.gpkg', 'CREATE TABLE tiles (a)')],
  ])('an adopted GeoPackage fails when it %s', async (_, spoil) => {
    spoil();
    await expect(read(cacheWith(), 3, 5, 2)).rejects.toMatchObject({ code: 'store-failed' });
  });
});

describe("MapCache's cache of type sqlite3", () => {
  const cacheIn = (database: string, dimensions: string[] = []) =>
    openSqliteCache(
      {
        layout: 'mapcache-sqlite',
        folder,
        database,
        gridSet: undefined,
        gridSets: { 'EPSG:900913': 'g' },
        dimensions,
        origin: 'nw',
        name: undefined,
        within: null,
      },
      OWNER,
      systemClock,
    );
  const insert = (file: string, values: string) =>
    change(
      file,
      `CREATE TABLE IF NOT EXISTS tiles(tileset text, grid text, x integer, y integer, z integer, data blob, dim text,
         ctime datetime, primary key(tileset, grid, x, y, z, dim));
       INSERT INTO tiles VALUES (${values}, '2020-03-01 12:00:00')`,
    );
  const blob = `X'${TILE.toString('hex')}'`;

  it.each(['all.db', '3.db'])(
    'a MapCache SQLite tile in %s is that of its tileset and grid',
    async (file) => {
      insert(file, `'states', 'g', 5, 2, 3, ${blob}, ''`);
      insert(file, `'other', 'g', 4, 2, 3, ${blob}, ''`);
      insert(file, `'states', 'WGS84', 3, 2, 3, ${blob}, ''`);
      insert(file, `'states', 'g', 2, 2, 3, ${blob}, 'a'`);
      const cache = cacheIn(file === 'all.db' ? file : '{z}.db');
      expect(await read(cache, 3, 5, 2)).toEqual({ bytes: TILE, changedAt: Date.UTC(2020, 2, 1, 12) });
      for (const x of [4, 3, 2]) expect(await read(cache, 3, x, 2)).toBeNull();
      expect(await read(cache, 4, 5, 2)).toBeNull();
    },
  );

  it('a MapCache SQLite tile of dimensions has their values, the last one first', async () => {
    insert('all.db', `'states', 'g', 5, 2, 3, ${blob}, '700#2020-08-25'`);
    const values = new Map([
      ['TIME', '2020-08-25'],
      ['LEVEL', '700'],
    ]);
    const cache = cacheIn('all.db', ['time', 'level']);
    expect(await read(cache, 3, 5, 2, values)).toMatchObject({ bytes: TILE });
    expect(await read(cache, 3, 5, 2, new Map([...values, ['LEVEL', '800']]))).toBeNull();
    expect(await read(cacheIn('all.db', ['time']), 3, 5, 2, values)).toBeNull();
  });

  it('a MapCache SQLite tile that is kept as a colour counts as missing', async () => {
    insert('all.db', "'states', 'g', 5, 2, 3, X'23FF0000FF', ''");
    expect(await read(cacheIn('all.db'), 3, 5, 2)).toBeNull();
  });
});

describe("GeoWebCache's MBTiles blob store", () => {
  const PARAMETERS = new Map([['STYLES', 'pophatch']]);
  const ID = '7510004a12f49fdd49a2ba366e9c4594be7e4358';

  function write(path: string, z: number, x: number, below: number, time: number | null): void {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    const db = new Database(join(folder, path));
    db.exec(
      'CREATE TABLE IF NOT EXISTS tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob)',
    );
    db.prepare('INSERT INTO tiles VALUES (?, ?, ?, ?)').run(z, x, below, Buffer.from(path));
    if (time !== null) {
      db.exec(
        'CREATE TABLE tiles_metadata (zoom_level integer, tile_column integer, tile_row integer, create_time integer)',
      );
      db.prepare('INSERT INTO tiles_metadata VALUES (?, ?, ?, ?)').run(z, x, below, time);
    }
    db.close();
  }

  const open = (more: object = {}) => {
    const given = { layout: 'geowebcache-mbtiles', folder, name: 'topp:states', ...more };
    return openOldCaches([{ ...adoptOptions.parse(given), within: null }], OWNER, {
      clock: systemClock,
      readObject: async () => null,
    });
  };

  it('its tiles are found in the file of 250 × 250 tiles, by grid set and parameters, with their times', async () => {
    const time = Date.UTC(2020, 1, 1, 12);
    write('topp_states/EPSG_900913image_pngnull/10_250_500.sqlite', 10, 499, 600, time);
    write(`topp_states/EPSG_900913image_png${ID}/10_250_500.sqlite`, 10, 499, 600, null);
    const usual = await read(open(), 10, 499, 1023 - 600);
    expect(usual?.bytes.toString()).toBe('topp_states/EPSG_900913image_pngnull/10_250_500.sqlite');
    expect(usual?.changedAt).toBe(time);
    const styled = await read(open(), 10, 499, 1023 - 600, PARAMETERS);
    expect(styled?.bytes.toString()).toContain(ID);
    expect(styled?.changedAt).toBeGreaterThan(time);
    expect(await read(open(), 10, 500, 1023 - 600)).toBeNull();
  });

  it('its tiles are found by a template and ranges of its own, more files than are kept open', async () => {
    const cache = open({ template: '{LAYER}-{styles}/{z}/{x}.{y}', rows: 1, columns: 2 });
    for (let x = 0; x < 140; x += 2) write(`topp_states-null/9/${x}.7`, 9, x, 7, null);
    for (let x = 0; x < 140; x += 2) {
      expect((await read(cache, 9, x, 511 - 7))?.bytes.toString()).toBe(`topp_states-null/9/${x}.7`);
    }
  });
});
