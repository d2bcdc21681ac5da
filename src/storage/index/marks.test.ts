import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStoreIn } from '../../../test/fixtures/segment-store.ts';
import { createMemoryStore } from '../segments/memory-store.ts';
import type { Store } from '../store.ts';
import { FOLDED, MAX_CLOSED } from './marks.ts';

const at = (x: number) => ({ gridSet: 'g', z: 20, rect: { minX: x, minY: 0, maxX: x, maxY: 0 } });

async function openStore(): Promise<Store> {
  const root = mkdtempSync(join(tmpdir(), 'marks-'));
  const store = await openStoreIn(root);
  onTestFinished(async () => {
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });
  return store;
}

it('late writers stay refused after a truncation of the whole layer when marks are folded', async () => {
  const store = await openStore();
  const raise = (count: number, from: number, effect: { type: 'hide'; at: number } | null) =>
    store.mark({
      type: 'raise',
      raises: Array.from({ length: count }, (_, n) => ({ layer: 'roads', places: [at(from + n)], effect })),
    });
  const hide = { type: 'hide', at: 1 } as const;
  const early = await raise(FOLDED, 0, hide);
  const raises = [{ layer: 'roads', places: null, effect: hide }];
  const [whole = 0] = await store.mark({ type: 'raise', raises });
  await store.mark({ type: 'close', numbers: [...early, whole] });
  await raise(MAX_CLOSED - FOLDED + 1, FOLDED, null);
  expect(await store.marks('roads', at(2 ** 19))).toBeGreaterThanOrEqual(whole);
});

it('marks that were joined hide their tiles until the last of them is closed', async () => {
  const store = createMemoryStore({ type: 'memory' });
  onTestFinished(() => store.close());
  const set = { layer: 'roads', gridSet: 'g', format: 'image/png', parametersId: null };
  await store.put(set, 20, [{ x: 1, y: 0, bytes: Buffer.from('map'), createdAt: 1 }], 0);
  const raises = [{ layer: 'roads', places: [at(1)], effect: { type: 'hide', at: 1 } as const }];
  const [first = 0] = await store.mark({ type: 'raise', raises });
  const [second = 0] = await store.mark({ type: 'raise', raises });
  await store.mark({ type: 'close', numbers: [first] });
  expect(await store.get(set, { z: 20, x: 1, y: 0 })).toBeNull();
  await store.mark({ type: 'close', numbers: [second] });
  expect(await store.get(set, { z: 20, x: 1, y: 0 })).not.toBeNull();
});

it('a tile is read as quickly beside three thousand waiting truncations as beside none', async () => {
  const store = await openStore();
  const set = { layer: 'roads', gridSet: 'g', format: 'image/png', parametersId: null };
  await store.put(set, 20, [{ x: 2 ** 19, y: 0, bytes: Buffer.from('map'), createdAt: 1 }], 0);
  /** The best of several, in microseconds of processor time for a hundred reads after a change of the layer. */
  const cost = async () => {
    const rounds: number[] = [];
    for (let round = 0; round < 9; round++) {
      const begun = process.cpuUsage();
      for (let read = 0; read < 100; read++)
        expect(await store.get(set, { z: 20, x: 2 ** 19, y: 0 })).not.toBeNull();
      const { user, system } = process.cpuUsage(begun);
      rounds.push(user + system);
    }
    return Math.min(...rounds);
  };
  const before = await cost();
  const effect = { type: 'hide', at: 1 } as const;
  const raises = Array.from({ length: 3000 }, (_, x) => ({ layer: 'roads', places: [at(x)], effect }));
  await store.mark({ type: 'raise', raises });
  expect((await cost()) / before).toBeLessThan(3);
});
