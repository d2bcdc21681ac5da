/** What 1,000 waiting tasks of 10^9 tiles each cost: npm run bench:pending */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGridSet } from '../../src/domain/grid-set.ts';
import { createGridSubset } from '../../src/domain/grid-subset.ts';
import { author } from '../../test/fixtures/author.ts';
import { openTaskHouse } from '../../test/fixtures/task-house.ts';

const TASKS = 1000;
const MIB = 1024 ** 2;
const say = (line: string) => void process.stdout.write(`${line}\n`);
const extent = { minX: -20037508, minY: -20037508, maxX: 20037508, maxY: 20037508 };

function memory(): number {
  global.gc?.();
  return process.memoryUsage.rss();
}

const folder = await mkdtemp(join(tmpdir(), 'tilewarden-bench-'));
const gridSet = createGridSet({ name: 'deep', srs: 3857, extent, levels: 16 });
const house = await openTaskHouse({
  layer: { gridSubsets: [createGridSubset(gridSet)] },
  location: join(folder, 'tilewarden.db'),
  tasks: { maxThreads: 1 },
});
// The one task that runs waits for its upstream, so that all of them stay where they are.
house.road.source.answer = ({ signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
const first = await house.service.create({ layer: 'roads' }, author('bench'));
const before = memory();
const times: number[] = [];
for (let i = 1; i < TASKS; i++) {
  const began = performance.now();
  await house.service.create({ layer: 'roads', threadCount: 8 }, author('bench'));
  times.push(performance.now() - began);
}
const began = performance.now();
const listed = await house.service.active(null);
const listing = performance.now() - began;
const after = memory();
times.sort((a, b) => a - b);
say(`tasks waiting or running     ${listed.length}, of ${first.tilesTotal} tiles each`);
say(`accepted in, median and p99  ${times[500]?.toFixed(2)} ms, ${times[989]?.toFixed(2)} ms`);
say(`listed in                    ${listing.toFixed(1)} ms`);
say(`memory more than with one    ${((after - before) / MIB).toFixed(1)} MiB`);
await house.service.cancel({ states: ['pending', 'running'] }, 'bench');
await house.close();
await rm(folder, { recursive: true, force: true });
