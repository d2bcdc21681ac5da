/** npm run test:faults -- --cycles 100 --seed 1 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openMockWms } from '../fixtures/mock-wms.ts';
import { runKillLoop } from './kill-loop.ts';

const { values } = parseArgs({
  options: { cycles: { type: 'string', default: '100' }, seed: { type: 'string', default: '1' } },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);
execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
const folder = await mkdtemp(join(tmpdir(), 'tilewarden-faults-'));
const wms = await openMockWms();
const report = await runKillLoop({
  cycles: Number(values.cycles),
  seed: Number(values.seed),
  folder,
  wms,
  say,
});
await wms.close();
await rm(folder, { recursive: true, force: true });
const { acknowledged, lost, miscounted, wrongTiles, tilesChecked, slowestStart } = report;
for (const complaint of miscounted) say(complaint);
say(`tasks acknowledged ${acknowledged}, lost ${lost.length}, miscounted ${miscounted.length}`);
say(
  `tiles checked ${tilesChecked}, torn or wrong ${wrongTiles.length}; slowest start ${Math.round(slowestStart)} ms`,
);
process.exitCode = lost.length + miscounted.length + wrongTiles.length > 0 ? 1 : 0;
