import { existsSync, readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { settingsFrom } from '../config/settings-handover.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import type { Command } from './command.ts';
import { hardenProcess } from './harden-process.ts';
import { receiveHandover } from './start-process.ts';

/** Answers come before seeding: the server's own process gets ten times as much when both want a processor. */
const NICENESS = 10;
/** In Linux each thread has its own; those that are started later take after the one that starts them. */
const THREADS = '/proc/self/task';

export const taskProcess: Command = {
  name: 'task-process',
  summary: 'perform tasks for a server or worker (started by it, not by hand)',
  flags: [],
  async run(_flags, terminal) {
    if (!process.send) {
      terminal.err('Task processes are started by tilewarden serve and tilewarden worker.\n');
      return 2;
    }
    // A worker does not outlive its server: what it holds is given to others.
    process.once('disconnect', () => process.exit(1));
    // It may have died while this process was loading.
    if (!process.connected) return 1;
    // Ctrl-C reaches the whole group; the server decides when a worker ends.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
    giveWay();
    hardenProcess();
    const settings = settingsFrom(await receiveHandover());
    const log = createLogger({ level: settings.log.level, pretty: process.stderr.isTTY === true });
    const { openTaskProcessApp } = await import('../app/open-task-process-app.ts');
    const surroundings = {
      log: log.child({ worker: process.pid }),
      clock: systemClock,
      random: systemRandom,
    };
    const app = await openTaskProcessApp(settings, surroundings, process);
    await app.stopped;
    await app.close();
    process.removeAllListeners('disconnect');
    process.disconnect();
    return 0;
  },
};

function giveWay(): void {
  const threads = existsSync(THREADS) ? readdirSync(THREADS).map(Number) : [process.pid];
  for (const thread of threads) setPriority(thread, NICENESS);
}
