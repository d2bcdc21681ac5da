import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { packTiles } from '../pack-tiles.ts';
import { openSegmentWriting } from './segment-writing.ts';

const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const HOUR = 3_600_000;

it('a segment that no row names is removed after two looks and a day, and no other file is', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const root = mkdtempSync(join(tmpdir(), 'segment-orphans-'));
  const writing = openSegmentWriting({ root, sweepBytesPerSecond: 1 });
  onTestFinished(() => {
    vi.useRealTimers();
    writing.close();
    rmSync(root, { recursive: true, force: true });
  });
  const put = (x: number) => {
    const tiles = packTiles([{ x, y: 2, bytes: Buffer.alloc(9), createdAt: 1 }]);
    writing.put({ set, z: 3, ticket: 9, at: 1, ...tiles });
  };
  const file = (name: string, days: number) => {
    const path = join(root, 'segments', name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'bytes');
    utimesSync(path, new Date(), new Date(Date.now() - days * 24 * HOUR));
    return path;
  };
  const look = (after: number) => {
    vi.setSystemTime(Date.now() + after);
    for (let step = 0; step < 5; step++) writing.upkeep();
    return [old, young, later, used].map((path) => existsSync(path));
  };
  // Number 1 is taken when the writer asks for one: it takes the next after the greatest.
  file('1/1.tiles', 0);
  file('1/5.tiles', 0);
  put(1);
  const [old, young] = [file('1/3.tiles', 2), file('7/4.tiles', 0.5)];
  const later = file('1/99.tiles', 2);
  const used = join(root, 'segments', '1', '6.tiles');
  expect(look(0)).toEqual([true, true, true, true]);
  expect(look(HOUR / 2)).toEqual([true, true, true, true]);
  expect(look(HOUR)).toEqual([false, true, true, true]);
  expect(look(12 * HOUR)).toEqual([false, true, true, true]);
  expect(look(HOUR)).toEqual([false, false, true, true]);
});
