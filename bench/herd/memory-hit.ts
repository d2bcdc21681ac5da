/**
 * What a read costs the pipeline when the memory tier has the tile, beside an async call that does nothing.
 * In processor time, so that a busy machine does not spoil it.
 *
 *   node --import ./scripts/typescript/register.mjs bench/herd/memory-hit.ts
 */
import { createTileEvents } from '../../src/domain/tile-events.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { openTilePipeline } from '../../src/pipeline/open-tile-pipeline.ts';
import { resolveTileSet } from '../../src/pipeline/resolve-tile-set.ts';
import { MetatileCutter } from '../../src/raster/metatile-cutter.ts';
import { openTileRoad } from '../../test/fixtures/tile-road.ts';

const ROUNDS = 500_000;
const SIDE = 64;

const road = openTileRoad();
for (let y = 0; y < SIDE; y += 4) for (let x = 0; x < SIDE; x += 4) await road.renew('all', 6, x, y);
const pipeline = openTilePipeline({
  cutter: new MetatileCutter(),
  events: createTileEvents(),
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
});
for (let y = 0; y < SIDE; y++) for (let x = 0; x < SIDE; x++) await pipeline.read(road.tiles, { z: 6, x, y });

const names = { gridSet: 'small-tiles', format: 'image/png', parameters: new Map<string, string>() };
const { bound } = road.tiles;
const nothing = async (tile: object) => tile;

async function nanosecondsEach(call: (x: number, y: number) => unknown): Promise<number> {
  for (let i = 0; i < ROUNDS / 10; i++) await call(i % SIDE, (i >> 6) % SIDE);
  const before = process.cpuUsage();
  for (let i = 0; i < ROUNDS; i++) await call((i * 7) % SIDE, (i * 13) % SIDE);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / ROUNDS;
}

const empty = await nanosecondsEach((x, y) => nothing({ z: 6, x, y }));
const hit = await nanosecondsEach((x, y) => pipeline.read(road.tiles, { z: 6, x, y }));
const resolved = await nanosecondsEach((x, y) => pipeline.read(resolveTileSet(bound, names), { z: 6, x, y }));
const line = (what: string, ns: number) => `${what.padEnd(42)}${ns.toFixed(0).padStart(6)} ns\n`;
process.stdout.write(line('an async call that does nothing', empty));
process.stdout.write(line('a hit from the memory tier', hit));
process.stdout.write(line('a hit, the tile set named by the client', resolved));
await pipeline.close();
await road.close();
