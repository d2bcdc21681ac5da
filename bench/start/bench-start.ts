// Starting: the server on an empty data folder, and its workers with the first task.
// npm run bench -- start [--rounds 5]. The first task removes nothing: its time is the start of the workers.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { say, temporaryFolder } from '../harness/report.ts';
import { startServerProcess } from '../harness/server-process.ts';
import { childrenOf, processorSeconds } from '../hits/measure-hits.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Use {
  readonly processorMs: number;
  readonly mebibytes: number;
}

function useOf(pid: number): Use {
  const memory = /^Rss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1];
  return {
    processorMs: Math.round(processorSeconds([pid]) * 1000),
    mebibytes: Math.round(Number(memory) / 1024),
  };
}

async function firstTask(url: string): Promise<number> {
  const began = performance.now();
  await fetch(`${url}/rest/seed/world.json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ seedRequest: { type: 'truncate', zoomStart: 0, zoomStop: 0 } }),
  });
  for (;;) {
    const list = (await (await fetch(`${url}/rest/seed.json`)).json()) as { 'long-array-array': unknown[] };
    if (list['long-array-array'].length === 0) return performance.now() - began;
    await pause(10);
  }
}

async function round(): Promise<string> {
  const folder = temporaryFolder();
  const { url, pid, readyAfter, stop } = await startServerProcess(
    join(folder, 'data'),
    'log: { level: warn }',
  );
  try {
    const own = useOf(pid);
    const task = await firstTask(url);
    await pause(1000);
    const workers = childrenOf(pid).map(useOf);
    const [worker] = workers;
    return (
      `| ${Math.round(readyAfter)} | ${own.processorMs} | ${own.mebibytes} | ${Math.round(task)} | ` +
      `${workers.length} × ${worker?.processorMs} | ${worker?.mebibytes} |`
    );
  } finally {
    await stop();
    rmSync(folder, { recursive: true });
  }
}

say(
  '| server ready, ms | its CPU ms | its MiB | first task, ms | CPU ms of workers | MiB of a worker, idle |',
);
say('| ---: | ---: | ---: | ---: | ---: | ---: |');
for (let at = 0; at < Number(values.rounds); at++) say(await round());
