import type { ChildProcess } from 'node:child_process';
import type { Caller } from '../../access/caller.ts';
import type { KeyChange } from '../../access/key-ring.ts';
import type { ReaderKeys } from '../../access/open-reader-keys.ts';
import { CATALOG_CHANGED, CATALOG_NEWS, type CatalogEntry } from '../../catalog/catalog-entries.ts';
import { errorCopier } from '../../domain/error-copier.ts';
import { misconfigured } from '../../domain/errors.ts';
import { createChannel } from '../../lib/channel.ts';
import { type Child, ChildPool } from '../../lib/child-pool.ts';
import { ifLate } from '../../lib/clock.ts';
import { createDeferred } from '../../lib/deferred.ts';
import type { Env } from '../../lib/env.ts';
import type { Random } from '../../lib/random.ts';
import type { CachedTile } from '../../pipeline/tile-pipeline.ts';
import type { Credentials } from '../auth/access.ts';
import {
  AUTHENTICATE,
  COUNTED,
  type Counted,
  DRAW_REQUESTS,
  FLUSH,
  FORGET,
  type Forgotten,
  GO_ON,
  HOLD,
  PUT_BACK_REQUESTS,
  READ_TILE,
  READER_KEYS,
  READER_KEYS_CHANGED,
  STARTED,
  STOP_SERVING,
  type TileAsked,
  WRONG_KEY,
} from './process-messages.ts';

/** The primary's part, called by the HTTP processes. */
export interface PrimaryPart {
  readTile(asked: TileAsked, signal: AbortSignal): Promise<CachedTile>;
  authenticate(credentials: Credentials): Promise<Caller | null>;
  counted(counted: Counted): void;
  readonly keys: Pick<ReaderKeys, 'ring' | 'supply' | 'wrongKey'>;
  catalogChanges(version: number, limit: number): Promise<readonly CatalogEntry[]>;
}

export interface HttpProcessesOptions extends Env {
  readonly count: number;
  /** Starts a process that calls `openHttpProcess`. */
  readonly fork: () => ChildProcess;
  readonly random: Random;
}

/** Milliseconds. On a machine with far too much to do a sound process may need seconds to react. */
const FLUSH_TIMEOUT_MS = 5000;
const STOP_TIMEOUT_MS = 8500;
const START_TIMEOUT_MS = 30_000;

/** The processes that answer HTTP on the one port, as the primary sees them. */
export type HttpProcesses = ReturnType<typeof createHttpProcesses>;

/** None of them runs before `start`. */
export function createHttpProcesses(options: HttpProcessesOptions) {
  const { count, fork, clock, random, log } = options;
  let part = createDeferred<PrimaryPart>();
  /** Null until it serves. */
  let present: PrimaryPart | null = null;
  let held = false;

  const pool = new ChildPool({
    what: 'an HTTP process',
    fork() {
      const child = fork();
      return { process: child, channel: createChannel(child, errorCopier) };
    },
    begin(child) {
      const { channel } = child;
      channel.handle(READ_TILE, async (asked, signal) => (await part.promise).readTile(asked, signal));
      channel.handle(AUTHENTICATE, async (credentials) => (await part.promise).authenticate(credentials));
      channel.handle(READER_KEYS, async () => (await part.promise).keys.ring.all());
      channel.handle(DRAW_REQUESTS, async (draw) => (await part.promise).keys.supply.draw(draw));
      channel.handle(PUT_BACK_REQUESTS, (unused) => present?.keys.supply.putBack(unused));
      channel.handle(WRONG_KEY, async (address) => {
        (await part.promise).keys.wrongKey(address);
        return null;
      });
      channel.handle(COUNTED, (counted) => present?.counted(counted));
      channel.handle(CATALOG_NEWS, async ({ version, limit }) =>
        (await part.promise).catalogChanges(version, limit),
      );
      if (held) channel.tell(HOLD, null);
      return listening(child);
    },
    stop: STOP_SERVING,
    stopTimeoutMs: STOP_TIMEOUT_MS,
    clock,
    random,
    log,
  });

  /** Resolves when it listens; throws when it cannot. */
  async function listening({ process: child, channel, gone }: Child): Promise<void> {
    let dead = 'An HTTP process ended at its start.';
    const report = new Promise<string | null>((resolve) =>
      channel.handle(STARTED, ({ problem }) => resolve(problem)),
    );
    const late = () => {
      dead = 'An HTTP process did not start in time.';
      child.kill('SIGKILL');
    };
    const problem = await ifLate(clock, START_TIMEOUT_MS, late, () =>
      Promise.race([report, gone.then(() => dead)]),
    );
    if (problem !== null) throw misconfigured(problem);
  }

  async function flush(): Promise<void> {
    await Promise.all(pool.children.filter(({ ready }) => ready).map(flushOne));
  }

  async function flushOne(child: Child): Promise<void> {
    try {
      await child.channel.ask(FLUSH, null, AbortSignal.timeout(FLUSH_TIMEOUT_MS));
    } catch {
      if (child.retired) return;
      const { pid } = child.process;
      if (!child.channel.closed.aborted) log.warn({ pid }, 'an HTTP process does not respond; it is killed');
      child.process.kill('SIGKILL');
      await child.gone;
    }
  }

  return {
    /** Resolves when all listen. */
    async start(): Promise<void> {
      try {
        await pool.add();
        await Promise.all(Array.from({ length: count - 1 }, () => pool.add()));
      } catch (error) {
        await pool.close();
        throw error;
      }
    },
    /** From now on this answers them. Earlier requests have waited for it. */
    serve(serving: PrimaryPart): void {
      part.resolve(serving);
      present = serving;
      held = false;
      pool.tell(GO_ON, null);
    },
    keysChanged: (change: KeyChange): void => pool.tell(READER_KEYS_CHANGED, change),
    forget: (forgotten: Forgotten): void => pool.tell(FORGET, forgotten),
    /** As `CATALOG_CHANGED`. Every process has applied it when a later `flush` resolves. */
    catalogChanged: (file: unknown): void => pool.tell(CATALOG_CHANGED, file),
    /**
     * Resolves when every process has handled earlier messages and reported its counts. One that does not in time is
     * replaced.
     */
    flush,
    /** Requests to the primary wait until `serve`. */
    async hold(): Promise<void> {
      held = true;
      pool.tell(HOLD, null);
      await flush();
      part = createDeferred();
      present = null;
    },
    replaceAll: () => pool.replaceAll(),
    /** Each answers its requests in flight; one that takes too long is killed. */
    close: () => pool.close(),
  };
}
