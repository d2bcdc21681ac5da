import { type ChildProcess, fork } from 'node:child_process';
import cluster from 'node:cluster';
import { existsSync, readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/settings.ts';
import { type SettingsHandover, settingsFrom } from '../config/settings-handover.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger, type Logger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import type { Command } from './command.ts';
import { hardenProcess } from './process-setup.ts';

/** Answers come before seeding: the server's own process gets ten times as much when both want a processor. */
const NICENESS = 10;
/** In Linux each thread has its own; those that are started later take after the one that starts them. */
const THREADS = '/proc/self/task';

interface ChildApp {
  readonly stopped: Promise<void>;
  close(): Promise<void>;
}

interface ChildProcessOptions extends Pick<Command, 'name' | 'summary'> {
  /** What to tell somebody who starts it by hand. */
  readonly refusal: string;
  readonly signals: readonly NodeJS.Signals[];
  open(settings: Settings, log: Logger): Promise<ChildApp>;
}

export const taskProcess = childProcess({
  name: 'task-process',
  summary: 'perform tasks for a server or worker (started by it, not by hand)',
  refusal: 'Task processes are started by tilewarden serve and tilewarden worker.\n',
  signals: ['SIGINT', 'SIGTERM'],
  async open(settings, log) {
    giveWay();
    const { openTaskProcessApp } = await import('../app/open-task-process-app.ts');
    const surroundings = {
      log: log.child({ worker: process.pid }),
      clock: systemClock,
      random: systemRandom,
    };
    return openTaskProcessApp(settings, surroundings, process);
  },
});

export const httpProcess = childProcess({
  name: 'http-process',
  summary: 'answer HTTP for a server (started by it, not by hand)',
  refusal: 'HTTP processes are started by tilewarden serve --processes N.\n',
  signals: ['SIGINT', 'SIGTERM', 'SIGHUP'],
  async open(settings, log) {
    const { openHttpProcessApp } = await import('../app/open-http-process-app.ts');
    const surroundings = { log: log.child({ http: process.pid }), clock: systemClock };
    return openHttpProcessApp(settings, surroundings, process);
  },
});

function childProcess({ name, summary, refusal, signals, open }: ChildProcessOptions): Command {
  return {
    name,
    summary,
    flags: [],
    async run(_flags, terminal) {
      if (!process.send) {
        terminal.err(refusal);
        return 2;
      }
      // It does not outlive its server, which may have died while this process was loading.
      process.once('disconnect', () => process.exit(1));
      if (!process.connected) return 1;
      // Ctrl-C reaches the whole group; the server decides when a process ends.
      for (const signal of signals) process.on(signal, () => {});
      hardenProcess();
      const settings = settingsFrom(await receiveHandover());
      const log = createLogger(settings.log.level);
      const app = await open(settings, log);
      await app.stopped;
      await app.close();
      process.removeAllListeners('disconnect');
      process.disconnect();
      return 0;
    },
  };
}

function giveWay(): void {
  const threads = existsSync(THREADS) ? readdirSync(THREADS).map(Number) : [process.pid];
  for (const thread of threads) setPriority(thread, NICENESS);
}

const STDIO = ['pipe', 'ignore', 'inherit', 'ipc'] as const;
const SERIALIZATION = 'advanced';

/** Starts `tilewarden task-process` with this process's settings: the file may have been edited since they were read. */
export function startTaskProcess(handover: SettingsHandover): ChildProcess {
  return handOver(
    fork(mainFile(), ['task-process'], { stdio: [...STDIO], serialization: SERIALIZATION }),
    handover,
  );
}

/** Starts `tilewarden http-process`. Its server listens on a socket that this process holds for all of them. */
export function startHttpProcess(handover: SettingsHandover, port: number): ChildProcess {
  // Each takes connections by itself: one that hangs takes none, and none is lost with one that dies.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({
    exec: mainFile(),
    args: ['http-process'],
    stdio: [...STDIO],
    serialization: SERIALIZATION,
  });
  const { document } = handover;
  const server = { ...document.server, port };
  return handOver(cluster.fork().process, { ...handover, document: { ...document, server } });
}

function mainFile(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./main.${extension}`, import.meta.url));
}

function handOver(child: ChildProcess, handover: SettingsHandover): ChildProcess {
  // One that has died before it read them is replaced where its exit is waited for.
  child.stdin?.on('error', () => {});
  child.stdin?.end(JSON.stringify(handover));
  return child;
}

/** The side of the process that was started. */
async function receiveHandover(): Promise<SettingsHandover> {
  return JSON.parse(await text(process.stdin));
}
