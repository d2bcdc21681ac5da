/** A server reduced to its tasks, told what to do by the kill loop: fault-server.ts <folder> <wms url>. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { openTaskService } from '../../src/tasks/open-task-service.ts';
import { taskSettingsFor } from '../../src/tasks/task-settings.ts';
import { openFaultHouse } from './fault-house.ts';
import type { Answer, Request } from './fault-messages.ts';

const [folder = '', wmsUrl = ''] = process.argv.slice(2);
const house = await openFaultHouse(folder, wmsUrl);
const pids = new Set<number>();

function forkWorker(): ChildProcess {
  const worker = fork(fileURLToPath(new URL('./fault-worker.ts', import.meta.url)), [folder, wmsUrl]);
  const pid = worker.pid ?? 0;
  pids.add(pid);
  worker.once('exit', () => pids.delete(pid));
  return worker;
}

const settings = { ...taskSettingsFor(2), workers: 2, maxThreads: 4 };
const service = await openTaskService({ ...house, settings, forkWorker });
const say = (answer: Answer) => process.send?.(answer);

async function answer(request: Request): Promise<void> {
  const tasks =
    request.type === 'create'
      ? [await service.create(request.draft, 'fault')]
      : request.type === 'list'
        ? await service.list({ limit: 1000 })
        : [];
  say({ type: 'answer', id: request.id, tasks, pids: [...pids] });
}

process.on('message', (request: Request) => void answer(request));
process.once('disconnect', () => process.exit(1));
process.once('SIGTERM', async () => {
  await service.close();
  await house.close();
  process.exit(0);
});
say({ type: 'ready' });
