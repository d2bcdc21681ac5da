import { type ChildProcess, fork } from 'node:child_process';
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import type { SettingsHandover } from '../config/settings-handover.ts';
import type { FlagValues } from './command.ts';

/** What a process that answers gets at its start, over its standard input. Secrets are in the clear. */
export interface ServerStart {
  readonly handover: SettingsHandover;
  readonly adminPassword: string | null;
  readonly configFile: string | null;
  readonly port: number;
  readonly first: boolean;
  /** To read the file again: the flags of the server, and where it was started. */
  readonly flags: FlagValues;
  readonly startedIn: string;
}

const STDIO = ['pipe', 'ignore', 'inherit', 'ipc'] as const;
const SERIALIZATION = 'advanced';

/** Starts a task process with this process's settings: the file may have been edited since they were read. */
export function startTaskProcess(handover: SettingsHandover): ChildProcess {
  return handOver(
    fork(childFile(), ['task-process'], { stdio: [...STDIO], serialization: SERIALIZATION }),
    handover,
  );
}

/** Starts one of several processes that answer. Its server listens on a socket that this process holds for all of them. */
export function startServerProcess(start: ServerStart): ChildProcess {
  // Each takes connections by itself: one that hangs takes none, and none is lost with one that dies.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({
    exec: childFile(),
    args: ['server-process'],
    stdio: [...STDIO],
    serialization: SERIALIZATION,
  });
  const worker = cluster.fork();
  // It repeats the errors of its process, which the pool of processes handles.
  worker.on('error', () => {});
  return handOver(worker.process, start);
}

function childFile(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./child-process.${extension}`, import.meta.url));
}

function handOver(child: ChildProcess, start: SettingsHandover | ServerStart): ChildProcess {
  // One that has died before it read them is replaced where its exit is waited for.
  child.stdin?.on('error', () => {});
  child.stdin?.end(JSON.stringify(start));
  return child;
}
