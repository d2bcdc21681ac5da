// Starting: the server on an empty data folder, and its workers with the first task.
// npm run bench -- start [--rounds 5]. The first task removes nothing: its time is the start of the workers.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { say, temporaryFolder } from '../harness/report.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
/** Milliseconds. Linux counts in ticks of a hundredth of a second. */
const TICK = 10;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Use {
  readonly processorMs: number;
  readonly mebibytes: number;
}

function useOf(pid: number): Use {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);
  const [user = 0, system = 0] = fields.slice(11, 13);
  const memory = /^Rss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1];
  return { processorMs: (user + system) * TICK, mebibytes: Math.round(Number(memory) / 1024) };
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

async function firstTask(url: string): Promise<number> {
  const began = performance.now();
  await fetch(`${url}rest/seed/world.json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ seedRequest: { type: 'truncate', zoomStart: 0, zoomStop: 0 } }),
  });
  for (;;) {
    const list = (await (await fetch(`${url}rest/seed.json`)).json()) as { 'long-array-array': unknown[] };
    if (list['long-array-array'].length === 0) return performance.now() - began;
    await pause(10);
  }
}

async function round(): Promise<string> {
  const data = temporaryFolder();
  const began = performance.now();
  const args = ['dist/cli/main.js', 'serve', '--no-auth', '--port', '0', '--data', data];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [line] = (await once(createInterface(server.stdout), 'line')) as [string];
    const wall = performance.now() - began;
    const pid = server.pid ?? 0;
    const own = useOf(pid);
    const task = await firstTask(line.replace(/^.* /, ''));
    await pause(1000);
    const workers = childrenOf(pid).map(useOf);
    const [worker] = workers;
    return (
      `| ${Math.round(wall)} | ${own.processorMs} | ${own.mebibytes} | ${Math.round(task)} | ` +
      `${workers.length} × ${worker?.processorMs} | ${worker?.mebibytes} |`
    );
  } finally {
    server.kill();
    await once(server, 'exit');
    rmSync(data, { recursive: true, force: true });
  }
}

say(
  '| server ready, ms | its CPU ms | its MiB | first task, ms | CPU ms of workers | MiB of a worker, idle |',
);
say('| ---: | ---: | ---: | ---: | ---: | ---: |');
for (let at = 0; at < Number(values.rounds); at++) say(await round());
