/**
 * Cache hits of our server beside nginx serving the same tiles as files, and beside the least that Node.js can do, in
 * one run.
 *
 *   npm run bench:hits -- [--zoom 5] [--seconds 5] [--rounds 3] [--connections 32]
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startBareNode } from './bare-node-server.ts';
import {
  type Contestant,
  copyTiles,
  type Load,
  measureLoad,
  programPath,
  systemCallsPerRequest,
} from './measure-hits.ts';
import { startNginx } from './nginx-server.ts';
import { startTilewarden } from './tilewarden-server.ts';

const { values } = parseArgs({
  options: {
    zoom: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
  },
});
const zoom = Number(values.zoom);
const rounds = Number(values.rounds);
const load: Load = { seconds: Number(values.seconds), connections: Number(values.connections), zoom };

const missing = ['wrk', 'nginx'].filter((program) => programPath(program) === null);
if (missing.length > 0) {
  say(
    `Not measured: ${missing.join(' and ')} must be installed (Debian: apt-get install wrk nginx-light).\n`,
  );
  process.exit(1);
}

execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
const folder = mkdtempSync(join(tmpdir(), 'tilewarden-hits-'));
const running: Contestant[] = [];
try {
  const fromMemory = await startTilewarden('Tilewarden, from memory', join(folder, 'data'), '256 MiB');
  running.push(fromMemory);
  const bytes = await copyTiles(fromMemory, zoom, join(folder, 'www'));
  await fromMemory.stop();
  const contestants = [
    await startNginx('nginx, one process', join(folder, 'www'), folder),
    await startTilewarden('Tilewarden, from memory', join(folder, 'data'), '256 MiB'),
    await startBareNode('bare node:http, from memory', join(folder, 'www')),
  ];
  running.push(...contestants);
  await copyTiles(contestants[1] as Contestant, zoom, null);
  say(
    `${4 ** zoom} tiles of ${Math.round(bytes / 4 ** zoom)} bytes, ${load.connections} connections, best of ${rounds} rounds of ${load.seconds} s\n`,
  );
  await compete(contestants);
  const [nginx] = contestants;
  await contestants[1]?.stop();
  await contestants[2]?.stop();
  const fromStore = await startTilewarden('Tilewarden, from the store', join(folder, 'data'), '0');
  running.push(fromStore);
  await compete(nginx ? [nginx, fromStore] : []);
} finally {
  for (const contestant of running) await contestant.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** In turns, so that whatever else the machine does hits both; the best round of each is the one least disturbed. */
async function compete(contestants: readonly Contestant[]): Promise<void> {
  const results = contestants.map(() => ({
    requestsPerSecond: 0,
    microsecondsEach: Number.POSITIVE_INFINITY,
  }));
  for (let round = 0; round < rounds; round++) {
    for (const [i, contestant] of contestants.entries()) {
      const { requestsPerSecond, microsecondsEach } = await measureLoad(contestant, load);
      const best = results[i];
      if (!best) continue;
      best.requestsPerSecond = Math.max(best.requestsPerSecond, requestsPerSecond);
      best.microsecondsEach = Math.min(best.microsecondsEach, microsecondsEach);
    }
  }
  const [reference] = results;
  for (const [i, contestant] of contestants.entries()) {
    const result = results[i];
    if (!result || !reference) continue;
    const calls = await systemCallsPerRequest(contestant, load);
    say(
      `${contestant.name.padEnd(28)} ${String(Math.round(result.requestsPerSecond)).padStart(7)} requests/s` +
        `  ${(result.requestsPerSecond / reference.requestsPerSecond).toFixed(2)} of nginx` +
        `  ${result.microsecondsEach.toFixed(0).padStart(4)} µs of processor each` +
        `  ${calls === null ? 'system calls not counted' : `${calls.toFixed(1)} system calls each`}\n`,
    );
  }
}

function say(text: string): void {
  process.stdout.write(text);
}
