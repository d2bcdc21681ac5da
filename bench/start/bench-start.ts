// Starting: the server on an empty data folder, and its workers with the first task.
// npm run bench -- start [--rounds 5]. The first task removes nothing: its time is the start of the workers.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readOptions } from '../harness/options.ts';
import { childrenOf, memoryOf, processorSeconds } from '../harness/processes.ts';
import { say, sayMachine, temporaryFolder } from '../harness/report.ts';
import { startTask, untilDone } from '../harness/request.ts';
import { startServer } from '../harness/server.ts';

const folder = temporaryFolder();
const { rounds } = readOptions({ rounds: 5 });
const milliseconds = (pid: number) => Math.round(processorSeconds([pid]) * 1000);
const mebibytes = (pid: number) => Math.round(memoryOf(pid, 'Rss') / 1024 ** 2);

sayMachine();
say(
  '| server ready, ms | its CPU ms | its MiB | first task, ms | CPU ms of workers | MiB of a worker, idle |',
);
say('| ---: | ---: | ---: | ---: | ---: | ---: |');
for (let round = 0; round < rounds; round++) {
  const { url, pid, readyAfter, stop } = await startServer({ data: join(folder, `${round}`, 'data') });
  const own = [milliseconds(pid), mebibytes(pid)];
  const start = performance.now();
  await untilDone(url, await startTask(url, 'world', { type: 'truncate', zoomStart: 0, zoomStop: 0 }), 10);
  const task = Math.round(performance.now() - start);
  await delay(1000);
  const [worker = 0, ...others] = childrenOf(pid);
  const workers = [`${others.length + 1} × ${milliseconds(worker)}`, mebibytes(worker)];
  say(`| ${[Math.round(readyAfter), ...own, task, ...workers].join(' | ')} |`);
  await stop();
}
