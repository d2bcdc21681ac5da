import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { behavesAsTileStore } from '../../../test/contracts/tile-store.ts';
import { checkOrder, orderCommands } from '../../../test/contracts/tile-store-order.ts';
import { inLength } from '../../../test/fixtures/length.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { schemaKit } from '../../lib/schemas.ts';
import { openBundleStore } from './bundle-store.ts';
import { bundleStoreOptions } from './bundle-store-options.ts';

const folder = mkdtempSync(join(tmpdir(), 'bundle-store-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const options = bundleStoreOptions(schemaKit).parse({ type: 'bundle' });
const open = (root: string) => openBundleStore(options, { root, log: silentLogger, clock: systemClock });

describe('a bundle store', () => {
  behavesAsTileStore({ open: () => open(mkdtempSync(join(folder, 'root-'))), modelRuns: inLength(4, 200) });

  it('a bundle store shows the last change in every process, whatever is stored, removed and marked late', () =>
    fc.assert(
      fc.asyncProperty(orderCommands, async (commands) => {
        const root = mkdtempSync(join(folder, 'root-'));
        const nodes = [await open(root), await open(root)];
        const reopen = async (node: number) => {
          await nodes[node]?.close();
          nodes[node] = await open(root);
        };
        try {
          await checkOrder({ nodes, reopen }, commands);
        } finally {
          for (const node of nodes) await node.close();
        }
      }),
      { numRuns: inLength(3, 3000) },
    ));
});

it('a damaged mark is a failure of the store: no tile is shown that it may hide', async () => {
  const root = mkdtempSync(join(folder, 'root-'));
  const store = await open(root);
  const set = { layer: 'roads', gridSet: 'EPSG:4326', format: 'image/png', parametersId: null };
  await store.putMany(set, 3, [{ x: 1, y: 1, bytes: Buffer.from('map'), createdAt: 1 }], 0);
  mkdirSync(join(root, 'marks'));
  writeFileSync(join(root, 'marks', '7.json'), '{ "layer": ');
  expect(store.getNow?.(set, { z: 3, x: 1, y: 1 })).toBeUndefined();
  await expect(store.get(set, { z: 3, x: 1, y: 1 })).rejects.toMatchObject({ code: 'store-failed' });
  await store.close();
});
