/** Entry point of the child processes of servers and workers: `task-process` or `server-process`; see child-processes.ts. */
import { existsSync, readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import type { Settings } from '../config/settings.ts';
import { settingsFrom } from '../config/settings-handover.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { exitOnTheUnforeseen, hardenProcess, moveTo } from './process-setup.ts';

/** Hits come before seeding: the server gets ten times as much of a busy processor. */
const NICENESS = 10;
/** On Linux each thread has its own; new threads inherit it. */
const THREADS = '/proc/self/task';

async function openTaskProcess(settings: Settings) {
  const log = createLogger(settings.log.level);
  exitOnTheUnforeseen(log);
  moveTo(settings.data);
  giveWay();
  const { openTaskProcessApp } = await import('../app/open-task-process-app.ts');
  const own = { log: log.child({ worker: process.pid }), clock: systemClock, random: systemRandom };
  return openTaskProcessApp(settings, own, process);
}

function giveWay(): void {
  const threads = existsSync(THREADS) ? readdirSync(THREADS).map(Number) : [process.pid];
  for (const thread of threads) setPriority(thread, NICENESS);
}

async function live(): Promise<void> {
  // It does not outlive its server, which may have died while this process was loading.
  process.once('disconnect', () => process.exit(1));
  if (!process.connected) process.exit(1);
  // Ctrl-C reaches the whole group, and SIGHUP is for the server, which decides when a process ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
  hardenProcess();
  const start = JSON.parse(await text(process.stdin));
  const app = await (process.argv[2] === 'server-process'
    ? (await import('./server-process.ts')).openServerProcess(start)
    : openTaskProcess(settingsFrom(start)));
  await app.stopped;
  await app.close();
  process.removeAllListeners('disconnect');
  process.disconnect();
}

void live();
