import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { started } from '../../../scripts/steps.mjs';
import { collect, recount, sortedPages, tile, tilesIn } from '../../../test/contracts/tile-store-tools.ts';
import { inLength } from '../../../test/fixtures/length.ts';
import { FROM_SOURCES } from '../../../test/fixtures/processes.ts';
import { openStoreIn } from '../../../test/fixtures/segment-store.ts';
import { pagesIn } from '../read-tiles.ts';

const set = { layer: 'shared', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const script = new URL('../../../test/fixtures/segment-store-process.ts', import.meta.url);

it('every tile is whole and every page counted after a writer is killed', async () => {
  const root = mkdtempSync(join(tmpdir(), 'segment-kills-'));
  const ours = await openStoreIn(root, { segmentBytes: 100_000 });
  onTestFinished(async () => {
    await ours.close();
    rmSync(root, { recursive: true, force: true });
  });
  for (let round = 0; round < inLength(3, 1000); round++) {
    const child = await started(fork(script, [root], { execArgv: FROM_SOURCES }));
    await once(child, 'message');
    // Reads take a moment, so that each is killed in another step.
    for (let read = 0; read < 17 * (round % 50); read++) await ours.get(set, { z: 8, x: 128, y: 128 });
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    const entries = await collect(tilesIn(ours, set, 8));
    expect(entries.length).toBeGreaterThan(0);
    for (const { x, y, bytes } of entries) {
      const shown = await ours.get(set, { z: 8, x, y });
      expect(shown?.bytes.equals(Buffer.alloc(bytes, '0;'))).toBe(true);
    }
    expect(sortedPages(await collect(pagesIn(ours, { set })))).toEqual(await recount(ours, set));
    await ours.put(set, 8, [tile(127, 127, '0;')], 0);
  }
});
