import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collect, tile } from '../../../test/contracts/tile-store-tools.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { openBundleStore } from './bundle-store.ts';
import { bundleStoreOptions } from './bundle-store-options.ts';

const set = { layer: 'roads', gridSet: 'EPSG:4326', format: 'image/png', parametersId: null };
const options = bundleStoreOptions.parse({ type: 'bundle' });
const place = { z: 5, x: 1, y: 2 };
/** What an earlier version did not have. */
const LATER_COLUMNS: ReadonlyMap<number, readonly string[]> = new Map([
  [1, ['page.written_at', 'tile.made_by', 'tile.validator', 'tile.fresh_until']],
  [2, ['page.written_at', 'tile.made_by']],
  [3, ['page.written_at']],
]);

let root: string;

const open = () => openBundleStore(options, { root, log: silentLogger, clock: systemClock });

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tilewarden-versions-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

async function writeBundle(): Promise<string> {
  const store = await open();
  await store.putMany(set, 5, [{ ...tile(1, 2, 'old', 100), madeBy: 3, validator: '"v"' }], 0);
  await store.close();
  const name = readdirSync(root, { recursive: true, encoding: 'utf8' }).find((path) =>
    /5.*0_0.*\.sqlite$/.test(path),
  );
  return join(root, name ?? '');
}

function turnInto(version: number, path: string): void {
  const db = new Database(path, { fileMustExist: true });
  for (const name of LATER_COLUMNS.get(version) ?? []) {
    const [table, column] = name.split('.');
    db.exec(`ALTER TABLE ${table} DROP COLUMN ${column}`);
  }
  db.pragma(`user_version = ${version}`);
  db.close();
}

describe.each([1, 2, 3])('a bundle of version %i', (version) => {
  it('is read, written, and then knows who made its tiles and when', async () => {
    turnInto(version, await writeBundle());
    const store = await open();
    expect(await store.get(set, place)).toMatchObject({
      bytes: Buffer.from('old'),
      createdAt: 100,
      freshUntil: null,
      madeBy: version < 3 ? null : 3,
    });
    expect(await collect(store.pages(set))).toMatchObject([{ tiles: 1, writtenAt: 100 }]);
    await store.putMany(set, 5, [{ ...tile(1, 2, 'new', 9_000_000), madeBy: 4, freshUntil: 500 }], 0);
    expect(await store.get(set, place)).toMatchObject({ madeBy: 4, freshUntil: 500 });
    await store.close();
  });

  it('is written to as soon as somebody else who writes to it is done', async () => {
    const path = await writeBundle();
    turnInto(version, path);
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');
    const store = await open();
    const written = store.putMany(set, 5, [{ ...tile(3, 3, 'new', 200), madeBy: 4 }], 0);
    other.exec('COMMIT');
    other.close();
    await written;
    expect(await store.get(set, { z: 5, x: 3, y: 3 })).toMatchObject({ madeBy: 4 });
    expect(await store.get(set, place)).toMatchObject({ madeBy: version < 3 ? null : 3 });
    await store.close();
  });
});
