import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inLength, randomSeed } from '../fixtures/length.ts';
import { openMockWms } from '../fixtures/mock-wms.ts';
import { runKillLoop } from './kill-loop.ts';

const CYCLES = inLength(1, 100);
const SEED = randomSeed();

it.each([
  [1, CYCLES],
  [3, inLength(1, 30)],
])(
  `with %i process(es), %i kills at random moments lose no task, tear no tile and miscount nothing (seed ${SEED})`,
  async (processes, cycles) => {
    const folder = await mkdtemp(join(tmpdir(), 'tilewarden-faults-'));
    const wms = await openMockWms();
    try {
      const report = await runKillLoop({ cycles, seed: SEED, folder, wms, processes });
      expect(report).toMatchObject({ acknowledged: cycles + 2, lost: [], miscounted: [], wrongTiles: [] });
    } finally {
      await wms.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
