import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Caller } from '../../access/caller.ts';
import { CATALOG_CHANGED, CATALOG_NEWS, type CatalogEntry } from '../../catalog/catalog-entries.ts';
import { errorCopier } from '../../domain/error-copier.ts';
import { misconfigured } from '../../domain/errors.ts';
import { type Channel, createChannel } from '../../lib/channel.ts';
import { createDeferred } from '../../lib/deferred.ts';
import type { Surroundings } from '../../lib/surroundings.ts';
import type { TileAnswer } from '../../pipeline/tile-pipeline.ts';
import type { Credentials } from '../door/access.ts';
import {
  AUTHENTICATE,
  COUNTED,
  type Counted,
  FORGET,
  type Forgotten,
  GO_ON,
  HOLD,
  READ_TILE,
  SETTLE,
  STARTED,
  STOP_SERVING,
  type StartReport,
  type TileAsked,
} from './process-messages.ts';

/** What the primary does for the processes that answer. */
export interface PrimaryPart {
  readTile(asked: TileAsked, signal: AbortSignal): Promise<TileAnswer>;
  authenticate(credentials: Credentials): Promise<Caller | null>;
  counted(counted: Counted): void;
  catalogNews(version: number, limit: number): Promise<readonly CatalogEntry[]>;
}

export interface HttpProcessesOptions extends Surroundings {
  readonly count: number;
  /** Starts a process that calls `openHttpProcess`. */
  readonly fork: () => ChildProcess;
}

interface Child {
  readonly process: ChildProcess;
  readonly channel: Channel;
  readonly bornAt: number;
  readonly gone: Promise<void>;
  listens: boolean;
  retired: boolean;
}

/** Milliseconds. On a machine with far too much to do a sound process may need seconds to react. */
const SETTLE_PATIENCE = 5000;
const STOP_PATIENCE = 8500;
const START_PATIENCE = 30_000;
/** One that has lived this long has not died of its start. */
const SOUND_LIFE = 10_000;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;

/** The processes that answer HTTP on the one port, as the primary sees them. */
export type HttpProcesses = ReturnType<typeof createHttpProcesses>;

/** None of them runs before `start`. */
export function createHttpProcesses(options: HttpProcessesOptions) {
  const { count, fork, clock, log } = options;
  const children = new Set<Child>();
  const ending = new AbortController();
  let part = createDeferred<PrimaryPart>();
  /** Null until it serves. */
  let present: PrimaryPart | null = null;
  let held = false;
  let pause = FIRST_PAUSE;

  function start(): Child {
    const child = fork();
    const channel = createChannel(child, errorCopier);
    const gone = child.exitCode === null ? once(child, 'exit').then(() => {}) : Promise.resolve();
    const started = {
      process: child,
      channel,
      bornAt: clock.monotonic(),
      gone,
      listens: false,
      retired: false,
    };
    channel.handle(READ_TILE, async (asked, signal) => (await part.promise).readTile(asked, signal));
    channel.handle(AUTHENTICATE, async (credentials) => (await part.promise).authenticate(credentials));
    channel.handle(COUNTED, (counted) => present?.counted(counted));
    channel.handle(CATALOG_NEWS, async ({ version, limit }) =>
      (await part.promise).catalogNews(version, limit),
    );
    child.on('error', (error) =>
      log.warn({ err: error, pid: child.pid }, 'an HTTP process could not be reached'),
    );
    if (held) channel.tell(HOLD, null);
    children.add(started);
    void gone.then(() => replaceLost(started));
    return started;
  }

  /** Resolves when it listens; throws when it cannot. */
  async function startAndWait(): Promise<Child> {
    const child = start();
    const said = new Promise<StartReport>((resolve) => child.channel.handle(STARTED, resolve));
    const died = child.gone.then((): StartReport => ({ problem: 'An HTTP process ended at its start.' }));
    const late = clock.sleep(START_PATIENCE, child.channel.closed).then(
      () => ({ problem: 'An HTTP process did not start in time.' }),
      () => died,
    );
    const outcome = await Promise.race([said, died, late]);
    if (outcome.problem !== null) {
      child.retired = true;
      child.process.kill('SIGKILL');
      throw misconfigured(outcome.problem);
    }
    child.listens = true;
    return child;
  }

  function replaceLost(child: Child): void {
    children.delete(child);
    if (child.retired || ending.signal.aborted) return;
    const { pid, exitCode: code, signalCode: signal } = child.process;
    log.warn({ pid, code, signal }, 'an HTTP process ended; another one is started');
    const sound = clock.monotonic() - child.bornAt > SOUND_LIFE;
    const wait = sound ? 0 : pause;
    pause = sound ? FIRST_PAUSE : Math.min(pause * 2, LONGEST_PAUSE);
    void startAfter(wait);
  }

  async function startAfter(wait: number): Promise<void> {
    try {
      if (wait > 0) await clock.sleep(wait, ending.signal);
      await startAndWait();
    } catch (error) {
      if (ending.signal.aborted) return;
      log.error({ err: error }, 'an HTTP process could not be started; retrying');
      pause = Math.min(pause * 2, LONGEST_PAUSE);
      void startAfter(pause);
    }
  }

  async function settle(): Promise<void> {
    await Promise.all([...children].filter(({ listens }) => listens).map(settleOne));
  }

  async function settleOne(child: Child): Promise<void> {
    try {
      await child.channel.ask(SETTLE, null, AbortSignal.timeout(SETTLE_PATIENCE));
    } catch {
      if (child.retired) return;
      const { pid } = child.process;
      if (!child.channel.closed.aborted) log.warn({ pid }, 'an HTTP process does not respond; it is killed');
      child.process.kill('SIGKILL');
      await child.gone;
    }
  }

  async function retire(child: Child): Promise<void> {
    child.retired = true;
    child.channel.tell(STOP_SERVING, null);
    const late = setTimeout(() => child.process.kill('SIGKILL'), STOP_PATIENCE);
    await child.gone;
    clearTimeout(late);
  }

  function tellAll(tell: (channel: Channel) => void): void {
    for (const { channel } of children) tell(channel);
  }

  async function close(): Promise<void> {
    ending.abort();
    await Promise.all([...children].map(retire));
  }

  return {
    /** Resolves when all listen. */
    async start(): Promise<void> {
      try {
        await startAndWait();
        await Promise.all(Array.from({ length: count - 1 }, startAndWait));
      } catch (error) {
        await close();
        throw error;
      }
    },
    /** From now on this answers them. What they asked before has waited for it. */
    serve(serving: PrimaryPart): void {
      part.resolve(serving);
      present = serving;
      held = false;
      tellAll((channel) => channel.tell(GO_ON, null));
    },
    forget: (forgotten: Forgotten): void => tellAll((channel) => channel.tell(FORGET, forgotten)),
    /** As `CATALOG_CHANGED`. Resolved by `settle`: every process has taken it up then. */
    catalogChanged: (file: unknown): void => tellAll((channel) => channel.tell(CATALOG_CHANGED, file)),
    /**
     * Resolves when every process has forgotten what it was told to, and has told what it counted. One that does not
     * in time is ended, and another takes its place.
     */
    settle,
    /** Nothing is asked of the primary until `serve`. */
    async hold(): Promise<void> {
      held = true;
      tellAll((channel) => channel.tell(HOLD, null));
      await settle();
      part = createDeferred();
      present = null;
    },
    /** Starts the processes anew one after the other; the others answer meanwhile. */
    async replaceAll(): Promise<void> {
      for (const old of [...children]) {
        if (ending.signal.aborted) return;
        await startAndWait();
        await retire(old);
      }
    },
    /** Each answers what is under way; one that takes too long is ended. */
    close,
  };
}
