/** Messages between a parent and the processes that it starts: ready, stop, and requests to the parent. */
import type { ChildProcess } from 'node:child_process';
import type { ReadSettings, SettingsFile } from '../config/load-settings.ts';
import { keepsInMemory, taskSettings } from '../config/node-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { createProcessFeed } from '../db/process-feed.ts';
import { errorCopier } from '../domain/error-copier.ts';
import { misconfigured } from '../domain/errors.ts';
import { type Channel, createChannel, messageKind, type ProcessPort } from '../lib/channel.ts';
import { type Child, ChildPool } from '../lib/child-pool.ts';
import { type Clock, ifLate } from '../lib/clock.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { Turnstile } from '../lib/semaphore.ts';
import { openDataFolder } from './data-folder.ts';
import type { NodeEnv } from './open-process.ts';

/** The first administrator's, if it was generated at this start. */
export interface InitialPassword {
  readonly password: string;
  readonly file: string;
}

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
  /** This process has applied the configuration file. When it resolves, others begin with these settings, or find them. */
  reloaded(settings: ReadSettings): Promise<void>;
  /** Settings that another process has applied since this one began, or last called it; null: none. */
  newerSettings(): Promise<ReadSettings | null>;
  /** There is work: starts processes that perform tasks, if there are none. */
  startWorkers(): void;
}

interface StartReport {
  /** Null: it is ready. */
  readonly problem: string | null;
  readonly initialPassword: InitialPassword | null;
}

const STARTED = messageKind<StartReport>('started');
/** From a child: requests settings that it does not have yet. */
const NEWER_SETTINGS = messageKind<null, ReadSettings | null>('newer-settings');
/** From the parent: the process finishes its work and ends. */
const STOP_PROCESS = messageKind('stop-process');

/** Milliseconds. On an overloaded machine a healthy process may need seconds. */
const START_TIMEOUT_MS = 60_000;
/** Milliseconds after which workers are started without work. */
const WARM_AFTER_MS = 30_000;
/** Milliseconds in which a worker hands its pieces back. */
const STOP_WORKER_MS = 6000;

interface PoolOptions
  extends Omit<ConstructorParameters<typeof ChildPool>[0], 'fork' | 'begin' | 'cleanUp' | 'stop'> {
  readonly fork: () => ChildProcess;
  readonly file: SettingsFile | undefined;
  readonly feed: Pick<Awaited<ReturnType<typeof createProcessFeed>>, 'gone'>;
  /** Called with each child before it is ready. */
  readonly begin?: (child: Child, ready: Promise<InitialPassword | null>) => Promise<void>;
}

/** Processes of one kind, whose ends the others are notified of. */
export function openPool({ fork, file, feed, begin, ...options }: PoolOptions): ChildPool {
  const turns = new Turnstile();
  return new ChildPool({
    ...options,
    fork() {
      const process = fork();
      return { process, channel: createChannel(process, errorCopier) };
    },
    async begin(child) {
      let latest = file?.current;
      child.channel.handle(NEWER_SETTINGS, async () => {
        if (!file || file.current === latest) return null;
        latest = file.current;
        // Areas may have millions of points: their memory is written for one process in a turn.
        await turns.pass();
        return { handover: latest.handover, configFile: latest.configFile };
      });
      const ready = started(child, options.clock);
      await (begin?.(child, ready) ?? ready);
    },
    // Not awaited: with a full disk the process is replaced, and a stop ends.
    cleanUp: async ({ process: { pid = 0 }, retired }) => void feed.gone(pid, !retired),
    stop: STOP_PROCESS,
  });
}

/** Resolves when the process is ready; throws when it cannot start. */
async function started({ process: child, channel, gone }: Child, clock: Clock) {
  let problem = 'The process ended at its start.';
  const report = new Promise<StartReport>((resolve) => channel.handle(STARTED, resolve));
  const late = () => {
    problem = 'The process did not start in time.';
    child.kill('SIGKILL');
  };
  const ended = gone.then(() => ({ problem, initialPassword: null }));
  const start = await ifLate(clock, START_TIMEOUT_MS, late, () => Promise.race([report, ended]));
  if (start.problem !== null) throw misconfigured(start.problem);
  return start.initialPassword;
}

/** The processes of a server that perform tasks. They start with the first work, or soon after the server's start. */
export async function openWorkers(
  settings: Settings,
  { clock, random, log, file, forkWorker: fork }: NodeEnv & Required<Pick<ServerEnv, 'forkWorker'>>,
  open: ClosingStack,
) {
  const feed = open.use(await createProcessFeed(settings.data, { clock, log }));
  const env = { feed, file, clock, random, log };
  const pool = openPool({ what: 'a worker process', stopTimeoutMs: STOP_WORKER_MS, fork, ...env });
  const waiting = new AbortController();
  open.use({ close: () => waiting.abort() });
  function start(): void {
    if (waiting.signal.aborted) return;
    waiting.abort();
    for (let at = 0; at < taskSettings(settings).workers; at++) pool.keep();
  }
  clock.sleep(WARM_AFTER_MS, waiting.signal).then(start, () => {});
  return { feed, pool, start };
}

/** A process that answers alone has the locks and the workers itself. Null: it performs tasks itself, or none. */
export async function openAlone(
  settings: Settings,
  { forkWorker, ...env }: ServerEnv,
  open: ClosingStack,
): Promise<Supervisor | null> {
  await openDataFolder(settings.data, env.log, open);
  if (!forkWorker || keepsInMemory(settings) || taskSettings(settings).workers === 0) return null;
  const { pool, start } = await openWorkers(settings, { ...env, forkWorker }, open);
  open.use(pool);
  return {
    first: true,
    end: (pid) => pool.kill(pid),
    async reloaded() {},
    newerSettings: async () => null,
    startWorkers: start,
  };
}

export function connectParent(port: ProcessPort): Channel {
  return createChannel(port, errorCopier);
}

export function newerSettings(parent: Channel): Promise<ReadSettings | null> {
  return parent.ask(NEWER_SETTINGS, null);
}

/** The side of the child. `stopped` resolves when the parent wants it to end. */
export async function openChild(
  parent: Channel,
  open: () => Promise<{ close(): Promise<void> } & Partial<Omit<StartReport, 'problem'>>>,
) {
  const app = await open().catch((error: unknown) => {
    const problem = error instanceof Error ? error.message : String(error);
    parent.tell(STARTED, { problem, initialPassword: null });
    throw error;
  });
  const stopped = new Promise<void>((resolve) => parent.handle(STOP_PROCESS, () => resolve()));
  parent.tell(STARTED, { problem: null, initialPassword: app.initialPassword ?? null });
  return { stopped, close: app.close };
}
