// Random hits from the store over few and over many bundles, and the first usage after a start. Needs wrk.
// npm run bench -- bundles [--few 200] [--many 8192] [--seconds 5] [--rounds 3]
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { manyLayers } from '../capabilities/many-layers.ts';
import { say, temporaryFolder } from '../harness/report.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { fillPages, PAGES_OF_A_BUNDLE, ZOOM } from '../turns/fill-pages.ts';

const { values } = parseArgs({
  options: {
    few: { type: 'string', default: '200' },
    many: { type: 'string', default: '8192' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
  },
});
const counts = [Number(values.few), Number(values.many)];
const most = Math.max(...counts);
const script = fileURLToPath(new URL('./random-bundles.lua', import.meta.url));

const folder = temporaryFolder();
const data = join(folder, 'data');
mkdirSync(data);
await fillPages(join(data, 'stores', 'default'), 'layer-0', most * PAGES_OF_A_BUNDLE);
const configuration = `memoryTier: { size: 0 }\n${manyLayers(1)}`;

const counting = await startServerProcess(data, configuration);
await usage(counting.url, 'of bundles that were never counted');
await counting.stop();
const server = await startServerProcess(data, configuration);
for (const what of ['the first after a start', 'again']) await usage(server.url, what);

const best = counts.map(() => 0);
for (let round = 0; round < Number(values.rounds); round++) {
  for (const [at, bundles] of counts.entries()) best[at] = Math.max(best[at] ?? 0, hits(server.url, bundles));
}
await server.stop();
for (const [at, bundles] of counts.entries())
  say(`random hits over ${bundles} bundles: ${best[at]?.toFixed(0)} a second`);
say(`many : few = ${((best[1] ?? 0) / (best[0] ?? 1)).toFixed(2)}`);

async function usage(url: string, what: string): Promise<void> {
  // The first request of a process loads what speaks HTTP.
  await fetch(`${url}/healthz`);
  const begun = performance.now();
  const answer = await fetch(`${url}/api/v1/usage`);
  const { bytes } = (await answer.json()) as { bytes: number };
  say(`usage, ${what}: ${(performance.now() - begun).toFixed(0)} ms (${bytes} bytes)`);
}

function hits(url: string, bundles: number): number {
  const side = Math.ceil(Math.sqrt(most));
  const load = ['-t1', '-c16', `-d${values.seconds}s`, '-s', script, url, '--'];
  const text = execFileSync('wrk', [...load, String(ZOOM), String(bundles), String(side)], {
    encoding: 'utf8',
  });
  if (/Non-2xx/.test(text)) throw new Error(text);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1] ?? 0);
}
