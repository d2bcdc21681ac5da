import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openMockWms } from '../fixtures/mock-wms.ts';
import { runKillLoop } from './kill-loop.ts';

it('six kills at random moments lose no task, tear no tile and miscount nothing', {
  timeout: 300_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tilewarden-faults-'));
  const wms = await openMockWms();
  try {
    const report = await runKillLoop({ cycles: 6, seed: 3, folder, wms, say: () => {} });
    expect(report).toMatchObject({ acknowledged: 8, lost: [], miscounted: [], wrongTiles: [] });
  } finally {
    await wms.close();
    await rm(folder, { recursive: true, force: true });
  }
});
