/** Entry point of the processes of servers and workers: `work-process` or `server-process`; see child-processes.ts. */
import { existsSync, readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { buffer } from 'node:stream/consumers';
import { deserialize } from 'node:v8';
import { connectParent } from '../app/parent.ts';
import { settingsFrom } from '../config/settings-handover.ts';
import type { Channel } from '../lib/channel.ts';
import type { WorkStart } from './child-processes.ts';
import { enterProcess, hardenProcess } from './process-setup.ts';

/** Hits come before seeding: the server gets ten times as much of a busy processor. */
const NICENESS = 10;
/** On Linux each thread has its own; new threads inherit it. */
const THREADS = '/proc/self/task';

/** Performs tasks. */
async function openWorkProcess({ handover }: WorkStart, parent: Channel) {
  const settings = settingsFrom(handover);
  const env = enterProcess(settings, 'worker');
  giveWay();
  const { openWorkApp } = await import('../app/open-worker.ts');
  return openWorkApp(settings, env, parent);
}

function giveWay(): void {
  const threads = existsSync(THREADS) ? readdirSync(THREADS).map(Number) : [process.pid];
  for (const thread of threads) setPriority(thread, NICENESS);
}

async function live(): Promise<void> {
  // First: node:cluster drops messages without a listener, and a process may have to stop before it has started.
  const parent = connectParent(process);
  // It does not outlive its server, which may have died while this process was loading.
  process.once('disconnect', () => process.exit(1));
  if (!process.connected) process.exit(1);
  // Ctrl-C reaches the whole group, and SIGHUP is for the server, which decides when a process ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
  hardenProcess();
  const start = deserialize(await buffer(process.stdin));
  const app = await (process.argv[2] === 'server-process'
    ? (await import('./server-process.ts')).openServerProcess(start, parent)
    : openWorkProcess(start, parent));
  await app.stopped;
  await app.close();
  process.removeAllListeners('disconnect');
  process.disconnect();
}

void live();
