import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished, vi } from 'vitest';
import { packTiles, recordsOf } from '../pack-tiles.ts';
import { SegmentBytes } from './segment-bytes.ts';
import { openSegmentIndex, segmentFiles } from './segment-files.ts';
import { openSegmentWriting } from './segment-writing.ts';

const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const tile = { x: 1, y: 2, bytes: Buffer.from('tile'), createdAt: 1 };

it('a raised mark and a drop are synced when they return; tiles and closed marks are not', () => {
  const root = mkdtempSync(join(tmpdir(), 'segment-writing-'));
  const writing = openSegmentWriting({ root, sweepBytesPerSecond: 1 });
  const pragma = vi.spyOn(Database.prototype, 'pragma');
  onTestFinished(() => {
    pragma.mockRestore();
    writing.close();
    rmSync(root, { recursive: true, force: true });
  });
  const levels = (work: () => unknown) => {
    pragma.mockClear();
    work();
    return pragma.mock.calls.map(([text]) => text);
  };
  const synced = ['synchronous = FULL', 'synchronous = NORMAL'];
  const raises = [{ layer: set.layer, places: null, effect: null }];
  expect(levels(() => writing.mark({ type: 'raise', raises }))).toEqual(synced);
  expect(levels(() => writing.drop(set.layer, null, 1))).toEqual(synced);
  expect(levels(() => writing.put({ set, z: 3, ticket: 9, at: 1, ...packTiles([tile]) }))).toEqual([]);
  expect(levels(() => writing.mark({ type: 'close', numbers: [1] }))).toEqual([]);
});

/** The lowest number that is free. */
function nextDescriptor(): number {
  const descriptor = openSync(tmpdir(), 'r');
  closeSync(descriptor);
  return descriptor;
}

it('a process closes the file of a tile set that another one has dropped, so that its space is free', () => {
  const root = mkdtempSync(join(tmpdir(), 'segment-writing-'));
  const [ours, theirs] = [1, 2].map(() => openSegmentWriting({ root, sweepBytesPerSecond: 2 ** 40 }));
  onTestFinished(() => {
    for (const writing of [ours, theirs]) writing?.close();
    rmSync(root, { recursive: true, force: true });
  });
  const before = nextDescriptor();
  ours?.put({ set, z: 3, ticket: 9, at: 1, ...packTiles([tile]) });
  expect(nextDescriptor()).toBeGreaterThan(before);
  theirs?.drop(set.layer, null, 1);
  for (let step = 0; step < 9; step++) theirs?.upkeep();
  ours?.upkeep();
  expect(nextDescriptor()).toBe(before);
});

it('bytes of a process that was killed before a row named them are freed, and no others', () => {
  const root = mkdtempSync(join(tmpdir(), 'segment-writing-'));
  const writing = openSegmentWriting({ root, sweepBytesPerSecond: 2 ** 40 });
  onTestFinished(() => {
    writing.close();
    rmSync(root, { recursive: true, force: true });
  });
  writing.put({ set, z: 3, ticket: 9, at: 1, ...packTiles([tile]) });
  const killed = openSegmentIndex(root, { timeoutMs: 0, checkpointPages: 0 });
  const records = recordsOf({ set, z: 3, ticket: 10, ...packTiles([tile, { ...tile, x: 7 }]) });
  new SegmentBytes(killed, root, 'killed', () => 0).put(1, records);
  killed.close();
  expect(segmentFiles(root)).toHaveLength(2);
  for (let step = 0; step < 9; step++) writing.upkeep();
  expect(segmentFiles(root)).toEqual([{ set: 1, segment: 1 }]);
});

it('a tile is stored although its segment was taken for complete, or its set dropped, before a row named it', () => {
  const root = mkdtempSync(join(tmpdir(), 'segment-writing-'));
  const [ours, theirs] = [1, 2].map(() => openSegmentWriting({ root, sweepBytesPerSecond: 2 ** 40 }));
  const index = openSegmentIndex(root, { timeoutMs: 0, checkpointPages: 0 });
  const put = vi.spyOn(SegmentBytes.prototype, 'put');
  onTestFinished(() => {
    put.mockRestore();
    index.close();
    for (const writing of [ours, theirs]) writing?.close();
    rmSync(root, { recursive: true, force: true });
  });
  const store = () => ours?.put({ set, z: 3, ticket: 9, at: 1, ...packTiles([tile]) });
  const segments = () =>
    index.prepare<[], string>("SELECT tile_set || ' ' || id FROM segments WHERE live > 0").pluck().all();
  expect(store()).toEqual({ tiles: 1, bytes: 4 });
  const between = (change: () => void) =>
    put.mockImplementationOnce(function (this: SegmentBytes, of, records) {
      const done = SegmentBytes.prototype.put.call(this, of, records);
      change();
      return done;
    });
  between(() => index.exec("UPDATE segments SET writer = 'other'"));
  store();
  expect(segments()).toEqual(['1 2']);
  between(() => theirs?.drop(set.layer, null, 1));
  expect(store()).toEqual({ tiles: 1, bytes: 4 });
  expect(segments()).toContain('2 3');
});
