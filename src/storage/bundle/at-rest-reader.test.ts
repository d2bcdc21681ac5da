import { copyFileSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeFormerBundle } from '../../../test/fixtures/former-bundle.ts';
import { inLength } from '../../../test/fixtures/length.ts';
import { AtRestReader, READERS_LEASE, type TileRow } from './at-rest-reader.ts';
import { makeBundleFile, openForWriting, putToRest, type Sqlite, TILE_BYTES } from './bundle-file.ts';
import { bundleLayout } from './bundle-layout.ts';

const set = { layer: 'roads', gridSet: 'EPSG:4326', format: 'image/png', parametersId: null };
const MAX_KEY = 128 * 128 - 1;

let root: string;
let path: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'at-rest-'));
  makeBundleFile(bundleLayout(root), { folder: join(root, '0_0'), set, z: 5, bundleX: 0, bundleY: 0 });
  path = join(root, '0_0', readdirSync(join(root, '0_0'))[0] ?? '');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

interface Change {
  readonly key: number;
  readonly size: number | null;
  readonly number: number | null;
  readonly validator: string | null;
  readonly shared: boolean;
}

const changes = fc.array(
  fc.record<Change>({
    key: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: MAX_KEY })),
    size: fc.option(fc.oneof(fc.nat(300), fc.integer({ min: 900, max: 1100 }), fc.nat(30_000))),
    number: fc.option(fc.oneof(fc.nat(300), fc.nat(2 ** 31 - 1), fc.constant(1_790_000_000_123))),
    validator: fc.option(fc.string({ unit: 'grapheme', maxLength: 300 })),
    shared: fc.boolean(),
  }),
  { maxLength: 300 },
);

/** As the writer does: with a log, and without it when the last one leaves. */
function write(work: (db: Sqlite) => void): void {
  const db = openForWriting(path);
  db.transaction(work)(db);
  expect(putToRest(db)).toBe(true);
  db.close();
}

function applied(db: Sqlite, { key, size, number, validator, shared }: Change): void {
  if (size === null) db.prepare('DELETE FROM tile WHERE key = ?').run(key);
  else {
    const own = shared ? null : Buffer.alloc(size, key);
    if (shared) db.prepare('INSERT OR IGNORE INTO shared VALUES (?, ?)').run(size, Buffer.alloc(size, 's'));
    const values = [key, number ?? 7, size, number, validator, number, number ?? 0, number, own];
    db.prepare(
      `REPLACE INTO tile (key, created_at, checksum, fresh_until, validator, made_by, ticket, proof, bytes)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(values);
  }
  db.pragma('incremental_vacuum');
}

/** What SQLite says, key by key. */
function rows(): ReadonlyMap<number, TileRow> {
  const db = new Database(path, { readonly: true });
  const all = db
    .prepare<[], TileRow & { key: number }>(
      `SELECT key, created_at, checksum, fresh_until, made_by, ticket, proof, ${TILE_BYTES} AS bytes FROM tile`,
    )
    .all();
  db.close();
  return new Map(all.map(({ key, ...row }) => [key, row]));
}

function expectRow(reader: AtRestReader, key: number, expected: TileRow | null): void {
  const row = reader.read(path, key, 0);
  const [bytes, length] = [row && row !== 'unsure' ? row.bytes : null, expected?.bytes.length];
  // Value by value, as toEqual compares them, takes most of the test.
  expect([bytes?.length, !bytes || expected?.bytes.equals(bytes)]).toEqual([length, true]);
  expect(row && row !== 'unsure' ? { ...row, bytes: null } : row).toEqual(
    expected && { ...expected, bytes: null },
  );
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}

it('the reader of bundles at rest finds what SQLite finds, whatever was written and removed', () => {
  const reader = new AtRestReader(4);
  fc.assert(
    fc.property(changes, (list) => {
      write((db) => {
        for (const change of list) applied(db, change);
      });
      const expected = rows();
      for (const { key } of list) expectRow(reader, key, expected.get(key) ?? null);
    }),
    { numRuns: inLength(6, 500) },
  );
});

it('the reader of bundles at rest finds the tiles of a version 0.2 bundle, before and after a write', () => {
  const reader = new AtRestReader(4);
  fc.assert(
    fc.property(changes, changes, (former, list) => {
      write((db) => {
        for (const change of former) applied(db, change);
      });
      const before = rows();
      makeFormerBundle(path);
      for (const { key } of former) {
        const row = before.get(key);
        expectRow(reader, key, row ? { ...row, ticket: 0, proof: null } : null);
      }
      write((db) => {
        for (const change of list) applied(db, change);
      });
      const after = rows();
      for (const { key } of [...former, ...list]) expectRow(reader, key, after.get(key) ?? null);
    }),
    { numRuns: inLength(6, 500) },
  );
});

it('the reader of bundles at rest finds every tile of a full bundle', () => {
  write((db) => {
    const fill = db.prepare('INSERT INTO tile VALUES (?, 1, ?, NULL, NULL, NULL, 1, 1, ?)');
    for (let key = 0; key <= MAX_KEY; key++) fill.run(key, key, Buffer.alloc(key % 3000, key));
  });
  const reader = new AtRestReader(4);
  const keys = Array.from({ length: MAX_KEY + 1 }, (_, key) => key);
  const found = keys.map((key) => reader.read(path, key, 0));
  expect(found.map((row) => (row && row !== 'unsure' ? row.checksum : row))).toEqual(keys);
  expect(reader.read(path, MAX_KEY + 1, 0)).toBeNull();
});

it('the reader of bundles at rest keeps files open, and sees within its lease that one has gone', () => {
  write((db) => applied(db, { key: 1, size: 5, number: 7, validator: null, shared: false }));
  const reader = new AtRestReader(4);
  expect(reader.read(path, 1, 0)).toMatchObject({ ticket: 7 });
  rmSync(path);
  expect(reader.read(path, 1, READERS_LEASE)).toMatchObject({ ticket: 7 });
  expect(() => reader.read(path, 1, READERS_LEASE + 1)).toThrow('ENOENT');
});

it('the reader of bundles at rest closes files that are unused, gone or too many', () => {
  const copies = Array.from({ length: 6 }, (_, at) => join(root, `${at}.sqlite`));
  for (const copy of copies) copyFileSync(path, copy);
  const reader = new AtRestReader(4);
  const open = () => readdirSync('/proc/self/fd').filter((fd) => copies.includes(linkOf(fd))).length;
  for (const [at, copy] of copies.entries()) expect(reader.read(copy, 1, at)).toBeNull();
  expect(open()).toBe(4);
  reader.closeIdle(4);
  expect(open()).toBe(2);
  reader.closeAll();
  expect(open()).toBe(0);
});

it('the reader of bundles at rest leaves bundles with a writer and other files to SQLite', () => {
  const reader = new AtRestReader(4);
  expect(reader.read(path, 1, 0)).toBeNull();
  const db = openForWriting(path);
  expect(reader.read(path, 1, 0)).toBe('unsure');
  db.close();
  expect(reader.read(import.meta.filename, 1, 0)).toBe('unsure');
});
