import type { ChildProcess } from 'node:child_process';
import type { Settings } from '../config/settings.ts';
import { createProcessFeed } from '../db/process-feed.ts';
import { ChildPool } from '../lib/child-pool.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import type { Random } from '../lib/random.ts';
import { forkedWith, STOP_PROCESS, started } from './child-life.ts';
import { openDataFolder } from './data-folder.ts';
import { keepsInMemory, taskSettings } from './node-settings.ts';
import type { NodeEnv } from './open-tile-services.ts';

export interface ServerEnv extends NodeEnv {
  /** The parent of this process, if it is one of several that answer; it holds the locks and has the workers. */
  readonly supervisor?: Supervisor;
  /** Starts a process that performs tasks; without it tasks run in the node's own process. */
  readonly forkWorker?: () => ChildProcess;
}

export interface Supervisor {
  /** Whether this is the first process after a start of the server. */
  readonly first: boolean;
  /** Ends a process that does not respond. */
  end(pid: number): void;
  /** The settings of the file have changed: later processes begin with them. */
  reloaded(): void;
  /** There is work: processes that perform tasks are started, if there are none. */
  startWorkers(): void;
}

interface WorkersOptions extends Env {
  readonly forkWorker: () => ChildProcess;
  readonly feed: Pick<Awaited<ReturnType<typeof createProcessFeed>>, 'gone'>;
  readonly random: Random;
}

/** Milliseconds. */
const STOP_TIMEOUT_MS = 6000;

/** The processes of a server that perform tasks (`open-work-app.ts`), from the first work on: one that only serves tiles has none. */
export function openWorkers(settings: Settings, { forkWorker, feed, clock, random, log }: WorkersOptions) {
  const pool = new ChildPool({
    what: 'a worker process',
    fork: () => forkedWith(forkWorker()),
    begin: async (child) => void (await started(child, clock)),
    cleanUp: async ({ process: { pid = 0 }, retired }) => feed.gone(pid, !retired),
    stop: STOP_PROCESS,
    stopTimeoutMs: STOP_TIMEOUT_MS,
    clock,
    random,
    log,
  });
  let running = false;
  return {
    start(): void {
      if (running) return;
      running = true;
      for (let at = 0; at < taskSettings(settings).workers; at++) pool.keep();
    },
    end: (pid: number): void => pool.kill(pid),
    replaceAll: () => pool.replaceAll(),
    /** Asks the workers to hand their pieces back, and ends those that do not in time. */
    close: () => pool.close(),
  };
}

/** A process that answers alone has the locks and the workers itself. Null: it performs tasks itself, or none. */
export async function openAlone(
  settings: Settings,
  env: ServerEnv,
  open: ClosingStack,
): Promise<Supervisor | null> {
  const { data } = settings;
  await openDataFolder(data, env.log, open);
  const { forkWorker } = env;
  if (!forkWorker || keepsInMemory(settings) || taskSettings(settings).workers === 0) return null;
  const feed = open.use(await createProcessFeed(data));
  const workers = open.use(openWorkers(settings, { ...env, feed, forkWorker }));
  return { first: true, end: workers.end, reloaded() {}, startWorkers: workers.start };
}
