import type { Catalog } from '../catalog/catalog.ts';
import type { Database } from '../db/database.ts';
import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import type { HostClosed, HostClosing } from '../domain/upstream-status.ts';
import { type Clock, ifLate } from '../lib/clock.ts';
import { openRepeater, type Repeater } from '../lib/repeat.ts';
import { createRateLimitedWarning, type RateLimitedWarning } from '../pipeline/rate-limited-warning.ts';
import { resolveTileSet } from '../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../pipeline/tile-pipeline.ts';
import { LeaseRun, type LeaseRunOptions } from './lease-run.ts';
import type { Lease } from './store/lease.ts';
import { TASKS_STOPPED, TASKS_WAITING } from './store/task-rows.ts';
import { createTaskStore } from './store/task-store.ts';
import { EVERY_FORMAT, type TaskRequest } from './task.ts';

/** Milliseconds. However long a host is paused, its state is read again now and then: it may change. */
const MAX_REST = 60_000;
/** The same for pauses that may end at any time, for example by an administrator. */
const MAX_REST_OPEN_END = 5000;
const OPEN_END: readonly HostClosing['reason'][] = ['failing', 'retry-after', 'paused'];
const MIN_REST = 1000;

/** Tasks that a worker skips for a while, so that its threads are free for others. */
function createRestingTasks(clock: Clock) {
  /** On the monotonic clock. */
  const ends = new Map<number, number>();
  return {
    add(id: number, { until, reason }: HostClosing): void {
      const longest = OPEN_END.includes(reason) ? MAX_REST_OPEN_END : MAX_REST;
      const rest = Math.min(longest, Math.max(MIN_REST, until - clock.now()));
      ends.set(id, clock.monotonic() + rest);
    },
    ids(): readonly number[] {
      const now = clock.monotonic();
      for (const [id, end] of ends) if (end <= now) ends.delete(id);
      return [...ends.keys()];
    },
  };
}

interface TaskRunnerOptions
  extends Omit<LeaseRunOptions, 'crowded' | 'resting' | 'hostClosed' | 'tilesOf' | 'failTask' | 'warn'> {
  readonly database: Database;
  readonly catalog: Pick<Catalog, 'layer'>;
  /** Names this worker in the leases it holds. */
  readonly owner: string;
  /** Steps that this worker has in flight at most. */
  readonly threads: number;
  /** Workers that share the tasks, this one included. */
  readonly workers: number;
  /** Performed once, while there is no work; the signal aborts when there may be some, and at a stop. */
  readonly warmUp?: (woken: AbortSignal) => Promise<void>;
}

/** Milliseconds between polls for work without a wake-up. */
const POLL_INTERVAL_MS = 1000;
/** Milliseconds that the other workers have to take their share of a task before this one takes it too. */
const LEFTOVERS_AFTER = 100;
/** Milliseconds that steps in flight get to end by themselves when the runner stops. */
const STOP_TIMEOUT_MS = 2000;
/** Milliseconds between warnings of the same kind. */
const WARN_INTERVAL = 60_000;

/** Performs pieces of tasks of all processes, as many concurrently as it has threads, until it is closed. */
export class TaskRunner {
  readonly #options: TaskRunnerOptions;
  readonly #runs = new Map<LeaseRun, Promise<void>>();
  readonly #resting: ReturnType<typeof createRestingTasks>;
  readonly #warn: RateLimitedWarning;
  readonly #polling: Repeater;
  readonly #stopListening: () => void;
  readonly #ending = new AbortController();
  /** No thread is free: the end of a run wakes the polling. */
  #full = false;
  #isWarm = false;

  constructor(options: TaskRunnerOptions) {
    this.#options = options;
    const { database, clock, log } = options;
    this.#resting = createRestingTasks(clock);
    this.#warn = createRateLimitedWarning(log, clock, WARN_INTERVAL);
    const pause = () => (this.#full ? POLL_INTERVAL_MS * 60 : POLL_INTERVAL_MS);
    const failure = 'could not search for work';
    const listen = (wake: () => void) => database.listen(TASKS_WAITING, wake);
    this.#polling = openRepeater((_, woken) => this.#poll(woken), { clock, log, pause, failure, listen });
    this.#stopListening = database.listen(TASKS_STOPPED, () => this.#check());
  }

  /** Hands every piece back and resolves when nothing runs. */
  async close(): Promise<void> {
    this.#stopListening();
    this.#ending.abort();
    for (const run of this.#runs.keys()) run.handBack();
    const abortAll = () => {
      const reason = new TilewardenError('stopping', 'The server is stopping.');
      for (const run of this.#runs.keys()) run.abort(reason);
    };
    await ifLate(this.#options.clock, STOP_TIMEOUT_MS, abortAll, async () => {
      await this.#polling.close();
      await Promise.all(this.#runs.values());
    });
  }

  /** Steps whose leases are no longer valid are aborted. */
  #check(): void {
    for (const run of this.#runs.keys()) run.check();
  }

  async #poll(woken: AbortSignal): Promise<void> {
    const { workers, clock, warmUp } = this.#options;
    this.#full = false;
    this.#full = await this.#takeAll(false);
    if (this.#full || this.#stopping) return;
    if (workers > 1) {
      await clock.sleep(LEFTOVERS_AFTER, woken).catch(() => {});
      this.#full = !woken.aborted && (await this.#takeAll(true));
    }
    if (this.#isWarm || this.#runs.size > 0) return;
    await warmUp?.(woken);
    this.#isWarm = !woken.aborted;
  }

  get #stopping(): boolean {
    return this.#ending.signal.aborted;
  }

  /** True: no thread is free. */
  async #takeAll(leftovers: boolean): Promise<boolean> {
    const { leases, owner, workers } = this.#options;
    const wish = { owner, workers, leftovers };
    for (let free = this.#freeThreads(); free > 0; free = this.#freeThreads()) {
      const lease = await leases.take({ ...wish, freeThreads: free, resting: this.#resting.ids() });
      if (!lease) return false;
      await this.#start(lease);
      if (this.#stopping) return false;
    }
    return true;
  }

  #freeThreads(): number {
    let free = this.#options.threads;
    for (const { lease } of this.#runs.keys()) free -= lease.threads;
    return free;
  }

  async #start(lease: Lease): Promise<void> {
    const run = await this.#runOf(lease);
    if (!run) return;
    const running = run
      .run()
      .catch((error: unknown) => this.#abandon(lease, error))
      .finally(() => {
        this.#runs.delete(run);
        this.#polling.wake();
      });
    this.#runs.set(run, running);
    if (this.#stopping) run.handBack();
  }

  /** Null: its tiles are no longer available, and the task has failed. */
  async #runOf(lease: Lease): Promise<LeaseRun | null> {
    const { database, catalog, clock } = this.#options;
    const failTask = (id: number, reason: string) => createTaskStore(database).fail(id, reason, clock.now());
    const options = {
      ...this.#options,
      warn: this.#warn,
      tilesOf: ({ request }: Lease) => requestTileSet(request, catalog),
      failTask,
      crowded: () => this.#freeThreads() < 1,
      resting: () => this.#resting.ids(),
      hostClosed: (id: number, { closing }: HostClosed) => this.#resting.add(id, closing),
    };
    try {
      return new LeaseRun(lease, options);
    } catch (error) {
      if (!isTilewardenError(error)) throw error;
      await failTask(lease.taskId, error.message);
      return null;
    }
  }

  /** Work on the lease has failed outside its steps. It is released after a pause, as after a crash. */
  async #abandon({ taskId, token }: Lease, error: unknown): Promise<void> {
    const { clock, leases, log } = this.#options;
    log.error({ err: error, task: taskId }, 'work on a task was given up');
    await clock.sleep(POLL_INTERVAL_MS, this.#ending.signal).catch(() => {});
    await leases
      .free({ token }, true)
      .catch((err: unknown) => log.error({ err }, 'could not release a lease; it expires'));
  }
}

/** The tile set that the task was accepted for, or why it is no longer available. */
function requestTileSet(request: TaskRequest, catalog: TaskRunnerOptions['catalog']): ResolvedTileSet {
  const bound = catalog.layer(request.layer);
  if (!bound) throw new TilewardenError('layer-unknown', `Layer ${request.layer} does not exist any more.`);
  const { gridSet, format } = request;
  const tiles = resolveTileSet(bound, {
    gridSet,
    format: format === EVERY_FORMAT ? null : format,
    parameters: new Map(Object.entries(request.parameters)),
  });
  if (tiles.set.parametersId === request.parametersId) return tiles;
  throw new TilewardenError('parameter-refused', `The parameters of layer ${request.layer} have changed.`);
}
