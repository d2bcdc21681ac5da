/**
 * Seeding of our server beside mapcache_seed and mapproxy-seed: the same upstream, metatiles of 4 × 4, 2 threads, PNG.
 *
 *   npm run bench:seed -- [--zoom 6]
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openInstantUpstream } from './instant-upstream.ts';
import { seedWithMapCache, seedWithMapProxy, seedWithTilewarden } from './seeders.ts';

const { values } = parseArgs({ options: { zoom: { type: 'string', default: '6' } } });
const zoom = Number(values.zoom);
const tiles = (4 ** (zoom + 1) - 1) / 3;
const say = (line: string) => void process.stdout.write(`${line}\n`);

execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
const folder = mkdtempSync(join(tmpdir(), 'tilewarden-bench-seed-'));
const upstream = await openInstantUpstream();
const speeds = new Map<string, number>();
try {
  say(`${tiles} tiles, zoom 0 to ${zoom}`);
  for (const [name, seed] of [
    ['Tilewarden', seedWithTilewarden],
    ['MapCache', seedWithMapCache],
    ['MapProxy', seedWithMapProxy],
  ] as const) {
    upstream.reset();
    const times = await seed(join(folder, name), upstream.url, zoom);
    if (times === null) {
      say(`${name.padEnd(12)} not installed`);
      continue;
    }
    const idle = upstream.idleMs / Math.max(1, upstream.idleMs + upstream.busyMs);
    const { seconds, processorMs } = times;
    speeds.set(name, tiles / seconds);
    const speed = `${Math.round(tiles / seconds)} tiles/s`.padStart(14);
    const work = `${(processorMs / tiles).toFixed(2)} ms of processor a tile`;
    say(
      `${name.padEnd(12)}${speed}   ${work}, ${upstream.requests} requests, upstream idle ${Math.round(idle * 100)} %`,
    );
  }
  const ours = speeds.get('Tilewarden') ?? 0;
  for (const [name, speed] of speeds) {
    if (name !== 'Tilewarden') say(`${(ours / speed).toFixed(2)} × ${name}`);
  }
} finally {
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
}
