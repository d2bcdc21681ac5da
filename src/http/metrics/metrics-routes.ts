/** `/metrics`, and the checks `/healthz` and `/readyz`. */
import type { ReaderKeys } from '../../access/open-reader-keys.ts';
import type { FeedStatus } from '../../changes/change-options.ts';
import type { Deliveries } from '../../changes/deliveries/open-deliveries.ts';
import type { ChangesService } from '../../changes/open-changes.ts';
import type { BreakerState, UpstreamReport, UpstreamStatus } from '../../domain/upstream-status.ts';
import type { Count, Counters } from '../../lib/counters.ts';
import { orAborted } from '../../lib/deferred.ts';
import type { Env } from '../../lib/env.ts';
import type { TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { quotaBytes } from '../../quota/quota-configuration.ts';
import type { QuotaService, UsageReport } from '../../quota/quota-service.ts';
import type { TaskService } from '../../tasks/open-task-service.ts';
import { contentResponse, textResponse } from '../response.ts';
import type { Handler, Route } from '../route.ts';
import {
  type EventLoopWatch,
  type Metric,
  MetricSheet,
  PROCESS_METRICS,
  type ProcessUsage,
  type Sample,
} from './process-metrics.ts';
import type { TileCountSeries } from './tile-counts.ts';

export interface MetricsDeps {
  readonly traffic: { counts(): Iterable<TileCountSeries> };
  readonly pipeline: Pick<TilePipeline, 'status'>;
  /** Counters of all processes of the server. */
  readonly counters: Pick<Counters, 'all'>;
  readonly tasks: Pick<TaskService, 'figures'>;
  readonly changes: Pick<ChangesService, 'list'>;
  readonly quota: Pick<QuotaService, 'usage'>;
  readonly deliveries: Pick<Deliveries, 'counts'>;
  readonly upstreams: UpstreamReport;
  readonly eventLoop: EventLoopWatch;
  readonly process: () => ProcessUsage;
  readonly node: NodeState;
  readonly readerKeys: Pick<ReaderKeys, 'figures'>;
}

interface NodeState {
  /** Whether this node runs the quota, schedules and clean-up for all. */
  leads(): boolean;
  /** Whether the shared database is unreachable. */
  isAway(): boolean;
}

export function metricsRoutes(deps: MetricsDeps): readonly Route[] {
  const { tasks, changes, quota, node } = deps;
  const sheet = new MetricSheet();
  sheet.add(() => deps.traffic.counts(), TILE_REQUESTS);
  sheet.add(() => deps.pipeline.status(), STATUS);
  sheet.add(() => deps.counters.all(), COUNTERS);
  sheet.add(() => deps.upstreams(), UPSTREAMS);
  sheet.add(() => tasks.figures(), TASKS);
  sheet.add(() => changes.list(), CHANGES);
  sheet.add(() => quota.usage(), USAGE);
  sheet.add(() => deps.deliveries.counts(), DELIVERIES);
  sheet.add(() => node, NODE);
  sheet.add(() => deps.readerKeys.figures(), READER_KEYS);
  sheet.add(() => ({ ...deps.eventLoop.take(), ...deps.process() }), PROCESS_METRICS);
  const outage = new MetricSheet();
  outage.add(() => node, DATABASE_UP);
  const [handler, whileAway] = [metricsPage(sheet), metricsPage(outage)];
  return [{ method: 'GET', path: '/metrics', role: 'viewer', handler, whileAway }];
}

function metricsPage(sheet: MetricSheet): Handler {
  return async () => {
    const { body, contentType } = await sheet.write();
    return contentResponse(contentType, body);
  };
}

/** Prefixes the name with `tilewarden_`. A name that ends in `_total` makes a counter. */
function metric<Source>(
  [name, ...labels]: readonly [string, ...string[]],
  help: string,
  read: Metric<Source>['read'],
): Metric<Source> {
  const kind = name.endsWith('_total') ? 'counter' : 'gauge';
  return { kind, name: `tilewarden_${name}`, help, labels, read };
}

const TILE_REQUESTS = [
  metric<Iterable<TileCountSeries>>(
    ['tile_requests_total', 'layer', 'outcome'],
    'Tile requests by layer and outcome: hit, miss, stale, bypass, or the code of the failure',
    (series) => Array.from(series, ({ layer, outcome, count }): Sample => [count, { layer, outcome }]),
  ),
];

const DELIVERIES: readonly Metric<Awaited<ReturnType<Deliveries['counts']>>>[] = [
  metric(['deliveries', 'kind', 'name', 'state'], 'Purges and notifications by target and state', (counts) =>
    counts.map(({ count, ...labels }): Sample => [count, labels]),
  ),
];

type Status = ReturnType<TilePipeline['status']>;
const STATUS: readonly Metric<Status>[] = [
  metric(['flights'], 'Metatiles being fetched, cut or stored now', ({ flights }) => flights),
  metric(['waiting_reads'], 'Tile requests that wait for a source now', ({ waitingReads }) => waitingReads),
  metric(['memory_tier_bytes'], 'Tiles held in memory', ({ memoryTierBytes }) => memoryTierBytes),
  metric(['memory_tier_tiles'], 'Tiles held in memory', ({ memoryTierTiles }) => memoryTierTiles),
];

const COUNTERS: readonly Metric<readonly Count[]>[] = [
  counted(['flights_started_total', 'layer'], 'Metatile fetches started'),
  counted(['flights_joined_total', 'layer'], 'Requests that joined a flight under way'),
  counted(['flights_abandoned_total', 'layer'], 'Flights cancelled because all waiting requests had left'),
  counted(['flights_failed_total', 'layer', 'reason'], 'Flights that failed'),
  counted(['gate_refusals_total', 'layer', 'reason'], 'Source responses rejected as invalid'),
  counted(
    ['blanks_suspected_total', 'layer'],
    'Blank metatiles soon after a failure of their source, cached briefly',
  ),
  counted(['failures_repeated_total', 'layer', 'reason'], 'Requests answered with a recent failure'),
  counted(['reads_refused_total', 'layer'], 'Requests refused because too many wait'),
  counted(['tiles_adopted_total', 'layer'], 'Tiles read from the cache that a layer has adopted'),
  counted(['store_read_failures_total', 'layer', 'reason'], 'Tiles that could not be read from their store'),
  counted(['delivery_failures_total', 'kind', 'name'], 'Failed attempts to send a purge or notification'),
  counted(['store_requests_total', 'store', 'operation'], 'Requests to an object store'),
  counted(['store_request_failures_total', 'store', 'operation'], 'Failed requests to an object store'),
  counted(['store_request_bytes_total', 'store', 'operation'], 'Bytes of objects sent or received'),
];

function counted(names: readonly [string, ...string[]], help: string) {
  return metric<readonly Count[]>(names, help, (all) =>
    all.filter(({ name }) => name === names[0]).map(({ value, labels }): Sample => [value, labels]),
  );
}

const READER_KEYS = [
  metric<ReturnType<ReaderKeys['figures']>>(
    ['reader_key_requests_total', 'key', 'name', 'outcome'],
    'Requests with a key for readers: answered, or refused because a limit was exceeded',
    (figures) =>
      figures.flatMap(({ id, name, answered, refused }): Sample[] => [
        [answered, { key: String(id), name, outcome: 'answered' }],
        [refused, { key: String(id), name, outcome: 'refused' }],
      ]),
  ),
];

const BREAKER_STATES: readonly BreakerState[] = ['closed', 'open', 'half-open'];

/** Only administrators declare hosts, which bounds the number of series. */
const UPSTREAMS: readonly Metric<readonly UpstreamStatus[]>[] = [
  host(['requests_total'], 'Requests sent to the host', ({ requests }) => [[requests]]),
  host(['answer_seconds_total'], 'Time from sending a request to the end of its response', (status) => [
    [status.answerSeconds],
  ]),
  host(['refused_total'], 'Requests rejected before sending', ({ refused }) => [[refused]]),
  host(['errors_total', 'reason'], 'Requests that failed', ({ errors }) =>
    Object.entries(errors).map(([reason, failed]) => [failed, { reason }]),
  ),
  host(['in_flight'], 'Requests under way', ({ inFlight }) => [[inFlight]]),
  host(['waiting', 'priority'], 'Requests waiting', ({ waiting }) => [
    [waiting.interactive, { priority: 'interactive' }],
    [waiting.task, { priority: 'task' }],
  ]),
  host(['concurrency'], 'Adaptive concurrency limit', (status) => [[status.concurrency]]),
  host(['latency_seconds', 'quantile'], 'Response time of the latest requests', ({ latency }) =>
    latency
      ? [
          [latency.p50 / 1000, { quantile: '0.5' }],
          [latency.p95 / 1000, { quantile: '0.95' }],
        ]
      : [],
  ),
  host(['breaker_state', 'state'], '1 for the state the breaker is in', ({ breaker }) =>
    BREAKER_STATES.map((state) => [state === breaker ? 1 : 0, { state }]),
  ),
  host(['budget_used'], 'Requests counted against the budget of the day', ({ budget }) =>
    budget ? [[budget.used]] : [],
  ),
  host(['budget_limit'], 'Daily request budget', ({ budget }) => (budget ? [[budget.limit]] : [])),
  host(['closed_until_seconds', 'reason'], 'Unix time when tasks may go on; 0: now', ({ closed }) => [
    [(closed?.until ?? 0) / 1000, { reason: closed?.reason ?? 'none' }],
  ]),
];

function host(
  [name, ...labels]: readonly [string, ...string[]],
  help: string,
  read: (status: UpstreamStatus) => readonly Sample[],
) {
  return metric<readonly UpstreamStatus[]>([`upstream_${name}`, 'host', ...labels], help, (all) =>
    all.flatMap((status) =>
      read(status).map(([value, more]): Sample => [value, { host: status.host, ...more }]),
    ),
  );
}

type Figures = Awaited<ReturnType<TaskService['figures']>>;
const TASKS: readonly Metric<Figures>[] = [
  metric(['tasks', 'state'], 'Stored tasks by state', ({ states }) =>
    Object.entries(states).map(([state, count]): Sample => [count, { state }]),
  ),
  metric(['task_outcomes', 'outcome'], 'Stored finished tasks by outcome', ({ outcomes }) =>
    Object.entries(outcomes).map(([outcome, count]): Sample => [count, { outcome }]),
  ),
  metric(
    ['task_tiles_per_second'],
    'Tiles that running tasks process, smoothed',
    ({ tilesPerSecond }) => tilesPerSecond,
  ),
];

const CHANGES: readonly Metric<readonly FeedStatus[]>[] = [
  ofFeed('changes_received_total', 'Changes that the feed has reported', ({ received }) => received),
  ofFeed('changes_applied_total', 'Changes that are in force', ({ applied }) => applied),
  ofFeed('changes_pending', 'Changes waiting to be applied', ({ pending }) => pending),
  ofFeed('changes_failing', '1 while the feed fails, otherwise 0', ({ state }) =>
    state === 'failing' ? 1 : 0,
  ),
];

function ofFeed(name: string, help: string, read: (feed: FeedStatus) => number) {
  return metric<readonly FeedStatus[]>([name, 'feed'], help, (feeds) =>
    feeds.map((feed): Sample => [read(feed), { feed: feed.name }]),
  );
}

const USAGE: readonly Metric<UsageReport>[] = [
  metric(['cache_bytes', 'layer'], 'Disk usage of cached tiles', ({ layers }) =>
    layers.map(({ name, bytes }): Sample => [bytes, { layer: name }]),
  ),
  metric(['cache_tiles', 'layer'], 'Tiles in the stores', ({ layers }) =>
    layers.map(({ name, tiles }): Sample => [tiles, { layer: name }]),
  ),
  metric(['sweeping_bytes'], 'Bytes dropped but not yet removed from disk', ({ sweeping }) => sweeping.bytes),
  metric(['quota_bytes'], 'The global quota; 0 while it is not in force', ({ quota }) =>
    quota.enabled ? quotaBytes(quota.globalQuota) : null,
  ),
  metric(['evicted_tiles_total'], 'Tiles removed to keep a quota', ({ evicted }) => evicted.tiles),
  metric(['evicted_bytes_total'], 'Bytes removed to keep a quota', ({ evicted }) => evicted.bytes),
  metric(['store_free_bytes', 'store'], 'Free disk space of a store', ({ disks }) =>
    Array.from(disks, ([store, { freeBytes }]): Sample => [freeBytes, { store }]),
  ),
  metric(
    ['store_storing', 'store'],
    '0 while tiles are not stored because the disk is nearly full',
    ({ disks }) => Array.from(disks, ([store, { storing }]): Sample => [storing ? 1 : 0, { store }]),
  ),
];

/** While it is 0, `/metrics` is public and has no other metric: no caller can be authenticated. */
const DATABASE_UP: readonly Metric<NodeState>[] = [
  metric(['node_database_up'], '1 if the shared database is reachable, otherwise 0', (node) =>
    node.isAway() ? 0 : 1,
  ),
];

const NODE: readonly Metric<NodeState>[] = [
  metric(['node_leader'], '1: runs quota, schedules and clean-up', (node) => (node.leads() ? 1 : 0)),
  ...DATABASE_UP,
];

interface ReadinessDeps extends Env {
  /** Rejects if the server cannot work, e.g. cannot store a tile. Resolves to a degradation in words, or null. */
  readonly readiness: (signal: AbortSignal) => Promise<string | null>;
}

/** A longer check counts as failed. */
const CHECK_TIMEOUT_MS = 5_000;
/** Requests within this time get the last result. */
const RESULT_LASTS_MS = 1_000;

export const answerAlive: Handler = () => textResponse(200, 'alive\n');

/** `/readyz`: whether the server can work, and a degradation. The reason of a failure is only logged. */
export function createReadiness({ readiness, clock, log }: ReadinessDeps): Handler {
  let last: { readonly ready: ReturnType<typeof check>; readonly at: number } | null = null;

  return async () => {
    const now = clock.monotonic();
    if (!last || now - last.at >= RESULT_LASTS_MS) last = { ready: check(), at: now };
    const { ready, remark } = await last.ready;
    if (!ready) return textResponse(503, 'not ready\n', ['Retry-After', '5']);
    return textResponse(200, remark === null ? 'ready\n' : `ready: ${remark}\n`);
  };

  async function check() {
    const timeout = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    try {
      return { ready: true, remark: await orAborted(readiness(timeout), timeout) };
    } catch (error) {
      log.warn({ err: error }, 'the server is not ready');
      return { ready: false, remark: null };
    }
  }
}
