import { type ChildProcess, fork } from 'node:child_process';
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { serialize } from 'node:v8';
import type { SettingsInput } from '../config/environment.ts';
import type { ReadSettings } from '../config/load-settings.ts';

/** Settings for a process of a server, over its standard input: the file may have been edited in the meantime. Secrets are in the clear. */
export type WorkStart = Pick<ReadSettings, 'handover'>;

export interface ServerStart extends ReadSettings {
  readonly adminPassword: string | null;
  readonly port: number;
  /** It is the first since the server's start. */
  readonly first: boolean;
  /** To read the file again: the flags of the server, and where it was started. */
  readonly flags: SettingsInput['flags'];
  readonly startedIn: string;
}

const STDIO = ['pipe', 'ignore', 'inherit', 'ipc'] as const;
const SERIALIZATION = 'advanced';

/** Starts a process that performs tasks. */
export function startWorkProcess(start: WorkStart): ChildProcess {
  return handOver(
    fork(childFile(), ['work-process'], { stdio: [...STDIO], serialization: SERIALIZATION }),
    start,
  );
}

/** Starts one of several processes that answer. Its server listens on a socket that this process holds for all of them. */
export function startServerProcess(start: ServerStart): ChildProcess {
  // Each accepts connections by itself: a hanging process accepts none, and none is lost when a process dies.
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

function handOver(child: ChildProcess, start: WorkStart): ChildProcess {
  // A process that has died before it read them is replaced by the code that awaits its exit.
  child.stdin?.on('error', () => {});
  // In another turn of the event loop than its start: areas may have millions of points.
  setImmediate(() => child.stdin?.end(serialize(start)));
  return child;
}
