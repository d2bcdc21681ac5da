import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/db/open-database.ts';
import { problemOf } from '../../src/http/problems.ts';
import { createMemoryLedger } from '../../src/lib/budget.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DEFAULT_PIPELINE_SETTINGS } from '../../src/pipeline/tile-pipeline.ts';
import { openUpstreamLimiter } from '../../src/sources/upstream/open-upstream-limiter.ts';
import { upstreamOptions } from '../../src/sources/upstream/upstream-options.ts';
import { openTaskService, type TaskService } from '../../src/tasks/open-task-service.ts';
import { createVirtualClock, nextTurn, type VirtualClock } from '../fixtures/clocks.ts';
import { openPipelineHarness, type PipelineHarness } from '../fixtures/pipeline-harness.ts';
import { author, removalsOf, TASK_SETTINGS } from '../fixtures/task-fixture.ts';
import type { Scenario } from './scenario.ts';
import { createScriptedUpstream, type ScriptedUpstream } from './scripted-upstream.ts';

export interface SeenReply {
  readonly of: string;
  readonly status: number;
  readonly cache: string | null;
  readonly retryAfter: number | null;
  /** Seconds since the beginning. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

export interface Sample {
  readonly at: number;
  readonly breaker: string;
  readonly waitingReason: string | null;
  readonly taskState: string | null;
  readonly taskWaitsFor: string | null;
  readonly taskReason: string | null;
  readonly taskFailed: number | null;
  readonly taskRequests: number | null;
  readonly secondsRemaining: number | null;
  readonly hostState: string;
}

/** The observations of a scenario. */
export interface Seen {
  readonly replies: readonly SeenReply[];
  /** When requests reached the upstream, in seconds since the beginning. */
  readonly arrivals: readonly number[];
  readonly peak: number;
  readonly samples: readonly Sample[];
}

const HOST = 'maps.example.org:443';
const ZOOM = 9;
const COLUMNS = 2 ** ZOOM;
/** A row of tiles that are cached before the scenario begins. */
const SEEN_TILES = 8;
/** Turns of the event loop after which everything that runs waits for time or for threads. */
const TURNS = 4;
const MAX_TURNS = 100_000;
/** Clients that still wait at the end get their response. */
const EPILOGUE_MS = 90_000;

/**
 * Plays a scenario with the real limiter, pipeline, store and tasks, against a scripted upstream. Time is virtual: it
 * passes only when everything waits for it, so that the results do not depend on the speed of the machine.
 */
export async function runScenario(scenario: Scenario): Promise<Seen> {
  const stage = new Stage(scenario);
  try {
    return await stage.play();
  } finally {
    await stage.close();
  }
}

class Stage {
  readonly #scenario: Scenario;
  readonly #clock: VirtualClock = createVirtualClock(Date.UTC(2026, 10, 15, 12), () => this.#untilIdle());
  readonly #limiter;
  readonly #harness: PipelineHarness;
  readonly #upstream: ScriptedUpstream;
  readonly #replies: SeenReply[] = [];
  readonly #samples: Sample[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'tilewarden-scenario-'));
  #closeTasks: () => Promise<void> = async () => {};
  #tasks: TaskService | null = null;
  #newTiles = 0;
  #task: number | null = null;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    const clock = this.#clock;
    this.#limiter = openUpstreamLimiter({
      upstreams: { [HOST]: upstreamOptions.parse(scenario.limits) },
      budgets: createMemoryLedger(clock),
      clock,
      random: () => 0.5,
      log: silentLogger,
    });
    const draw: PipelineHarness['source']['draw'] = (request) => this.#harness.source.draw(request);
    this.#upstream = createScriptedUpstream(scenario, { limiter: this.#limiter, host: HOST, clock, draw });
    const layer = { metatile: { columns: 1, rows: 1 } };
    this.#harness = openPipelineHarness({ layer, clock, source: this.#upstream.source });
  }

  async play(): Promise<Seen> {
    const { clients, tasks, samples, seconds } = this.#scenario;
    if (tasks.length > 0) await this.#openTasks();
    if (clients.some(({ tiles }) => tiles === 'seen')) await this.#fillCache();
    const acts = [
      ...clients.map((client) => this.#playClients(client)),
      ...tasks.map((task) => this.#playTask(task)),
      ...samples.map((sample) => this.#sample(sample.at)),
    ];
    await this.#clock.run(seconds * 1000);
    const { arrivals, peak } = this.#upstream;
    const seen = { arrivals: [...arrivals], peak, samples: this.#samples };
    let over = false;
    const all = Promise.all(acts).then(() => {
      over = true;
    });
    await this.#clock.runUntil(() => over, EPILOGUE_MS);
    await all;
    return { ...seen, replies: this.#replies };
  }

  async close(): Promise<void> {
    const closing = this.#closeTasks();
    await this.#clock.run(10_000);
    await closing;
    await this.#harness.close();
    await this.#limiter.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Real work, such as encoding, is done by threads, and time waits for it. */
  async #untilIdle(): Promise<void> {
    for (let quiet = 0, turns = 0; quiet < TURNS; turns++) {
      await nextTurn();
      quiet = this.#isWorking() ? 0 : quiet + 1;
      if (turns > MAX_TURNS) throw new Error('the work does not end');
    }
  }

  /** A flight whose turn it is, and which is neither at the upstream nor in line for it, is being worked on. */
  #isWorking(): boolean {
    const [status] = this.#limiter.report();
    const waiting = status ? status.waiting.interactive + status.waiting.task : 0;
    const { flights } = this.#harness.pipeline.status();
    return Math.min(flights, DEFAULT_PIPELINE_SETTINGS.maxFetchesPerSource) > this.#upstream.active + waiting;
  }

  async #openTasks(): Promise<void> {
    const [clock, log] = [this.#clock, silentLogger];
    // No time passes here while a disk syncs.
    const database = await openDatabase({
      location: join(this.#folder, 'tilewarden.db'),
      clock,
      log,
      synced: false,
    });
    const { store, pipeline, tiles } = this.#harness;
    const service = await openTaskService({
      database,
      catalog: { layer: () => tiles.bound },
      pipeline,
      removals: removalsOf({ bound: tiles.bound, store, pipeline }),
      settings: TASK_SETTINGS,
      adopts: true,
      clock,
      random: () => 0.5,
      log,
    });
    this.#tasks = service;
    this.#closeTasks = async () => {
      await service.close();
      await database.close();
    };
  }

  /** With pictures of the upstream, without requests to it. */
  async #fillCache(): Promise<void> {
    const { store, tiles } = this.#harness;
    const generation = await store.marks(tiles.set.layer);
    const row = Array.from({ length: SEEN_TILES }, (_, x) => ({
      z: ZOOM,
      x,
      y: 0,
      bytes: Buffer.from(`tile ${x}`),
      createdAt: this.#clock.now(),
      checksum: x,
      blank: false,
    }));
    await store.put(tiles.set, ZOOM, row, generation);
  }

  async #until(moment: number): Promise<void> {
    await this.#clock.sleep(Math.max(0, moment * 1000 - this.#clock.monotonic()));
  }

  async #playClients(clients: Scenario['clients'][number]): Promise<void> {
    const { from, to = this.#scenario.seconds, rate, count = Number.POSITIVE_INFINITY } = clients;
    const asked: Promise<void>[] = [];
    for (let i = 0; i < count; i++) {
      const moment = from + (rate === undefined ? 0 : i / rate);
      if (moment >= to) break;
      await this.#until(moment);
      asked.push(this.#ask(clients, i));
    }
    await Promise.all(asked);
  }

  async #ask({ name, tiles }: Scenario['clients'][number], number: number): Promise<void> {
    const askedAt = this.#clock.monotonic() / 1000;
    const [x, y] = this.#placeOf(tiles, number);
    const reply = await this.#harness
      .read(ZOOM, x, y)
      .then(({ outcome }) => ({ status: 200, cache: outcome, retryAfter: null }), refusalOf);
    this.#replies.push({ ...reply, of: name, askedAt, answeredAt: this.#clock.monotonic() / 1000 });
  }

  #placeOf(tiles: 'new' | 'same' | 'seen', number: number): readonly [number, number] {
    if (tiles === 'same') return [0, COLUMNS - 1];
    if (tiles === 'seen') return [number % SEEN_TILES, 0];
    this.#newTiles++;
    return [this.#newTiles % COLUMNS, 1 + Math.floor(this.#newTiles / COLUMNS)];
  }

  async #playTask({ at, zoomStop, threads, ...rules }: Scenario['tasks'][number]): Promise<void> {
    await this.#until(at);
    const { layer } = this.#harness.tiles.set;
    const { retries, totalFailures } = rules;
    const draft = {
      layer,
      zoomStop,
      threadCount: threads,
      ...(retries !== undefined && { tileFailureRetryCount: retries }),
      ...(totalFailures !== undefined && { totalFailuresBeforeAborting: totalFailures }),
    };
    this.#task = (await this.#tasks?.create(draft, author('scenario')))?.id ?? null;
  }

  async #sample(at: number): Promise<void> {
    await this.#until(at);
    const [status] = this.#limiter.report();
    if (!status) throw new Error('the upstream has not been asked yet');
    const task = this.#task === null ? null : ((await this.#tasks?.get(this.#task)) ?? null);
    this.#samples.push({
      at,
      breaker: status.breaker,
      waitingReason: status.closed?.reason ?? null,
      taskState: task?.state ?? null,
      taskWaitsFor: task?.waitingFor?.reason ?? null,
      taskReason: task?.reason ?? null,
      taskFailed: task?.counters.failed ?? null,
      taskRequests: task?.counters.upstreamRequests ?? null,
      secondsRemaining: task?.secondsRemaining ?? null,
      hostState: status.state,
    });
  }
}

/** As a caller of the server would get it. */
function refusalOf(error: unknown): Pick<SeenReply, 'status' | 'cache' | 'retryAfter'> {
  const { answer } = problemOf(error, 'scenario');
  const place = answer.headers.indexOf('Retry-After');
  const retryAfter = place < 0 ? null : Number(answer.headers[place + 1]);
  return { status: answer.status, cache: null, retryAfter };
}
