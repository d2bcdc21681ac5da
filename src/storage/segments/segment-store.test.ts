import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, it } from 'vitest';
import { behavesAsTileStore } from '../../../test/contracts/tile-store.ts';
import { checkOrder, orderCommands } from '../../../test/contracts/tile-store-order.ts';
import { inLength } from '../../../test/fixtures/length.ts';
import { openStoreIn } from '../../../test/fixtures/segment-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'segment-store-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const options = { maxOpenSegments: 256, sweepBytesPerSecond: 2 ** 29 };
const open = async (root: string) => openStoreIn(root, options);

describe('a store in segments', () => {
  behavesAsTileStore({ open: () => open(mkdtempSync(join(folder, 'root-'))), modelRuns: inLength(3, 200) });

  it('a store in segments shows the last change in every process, whatever is stored, removed and marked late', () =>
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
      { numRuns: inLength(4, 3000) },
    ));
});
