import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inLength, inTurn, randomSeed } from '../fixtures/length.ts';
import { openMockWms } from '../fixtures/mock-wms.ts';
import { runKillLoop } from './kill-loop.ts';

const SEED = randomSeed();
/** Processes and kills. */
const LOOPS = inTurn([
  [1, inLength(1, 100)],
  [3, inLength(1, 30)],
]);

it.each(LOOPS)(
  `a server of %i process(es) killed %i times loses no task, tears no tile and counts right (seed ${SEED})`,
  async (processes = 1, cycles = 1) => {
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
