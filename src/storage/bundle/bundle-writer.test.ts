import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '../../lib/logger.ts';
import { spawnThread } from '../../lib/spawn-thread.ts';
import { BundleWriter } from './bundle-writer.ts';
import { packTiles } from './write-commands.ts';

const set = { layer: 'roads', gridSet: 'EPSG:4326', format: 'image/png', parametersId: null };

let root: string;
let writer: BundleWriter;
const threads: Worker[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'bundle-writer-'));
  writer = new BundleWriter(root, silentLogger, (from, name, options) => {
    const thread = spawnThread(from, name, options);
    threads.push(thread);
    return thread;
  });
});
afterEach(async () => {
  await writer.close();
  threads.length = 0;
  rmSync(root, { recursive: true, force: true });
});

function put(x: number): Promise<unknown> {
  const tiles = packTiles([{ x, y: 0, bytes: Buffer.from('tile'), createdAt: 1 }]);
  return writer.run('put', [{ set, z: 3, ticket: 0, at: 1, ...tiles }]);
}

it('a bundle writer fails the writes in hand when its thread dies, and goes on with another thread', async () => {
  await put(0);
  const inHand = Promise.allSettled(Array.from({ length: 40 }, (_, x) => put(x)));
  await threads[0]?.terminate();
  const outcomes = await inHand;
  const failures = outcomes.filter((outcome) => outcome.status === 'rejected');
  expect(failures.length).toBeGreaterThan(0);
  for (const failure of failures) expect(failure.reason).toMatchObject({ code: 'store-failed' });
  await put(1);
  expect(threads).toHaveLength(2);
});

it('a bundle writer starts no thread before the first write', async () => {
  await writer.close();
  expect(threads).toHaveLength(0);
});

it('a bundle writer finishes pending writes before it closes, and takes none after', async () => {
  const given = Array.from({ length: 10 }, (_, x) => put(x));
  await put(11);
  await writer.close();
  await expect(Promise.all(given)).resolves.toHaveLength(10);
  await expect(put(12)).rejects.toMatchObject({ code: 'store-failed' });
});
