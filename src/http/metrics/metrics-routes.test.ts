import { describe, expect, it } from 'vitest';
import { createTestApp, hit, testDeps, tileResponse } from '../../../test/fixtures/http-app.ts';
import type { FeedStatus } from '../../changes/change-options.ts';
import { TilewardenError } from '../../domain/errors.ts';
import type { UpstreamStatus } from '../../domain/upstream-status.ts';
import { Counters } from '../../lib/counters.ts';
import type { QuotaService } from '../../quota/quota-service.ts';
import type { TaskService } from '../../tasks/open-task-service.ts';
import { processUsage } from './process-metrics.ts';

const STATUS: UpstreamStatus = {
  host: 'maps.example.org:443',
  limits: {
    concurrency: 8,
    ratePerSecond: 10,
    dailyBudget: 500,
    quietHours: ['06:00-22:00'],
    timeZone: 'UTC',
  },
  inFlight: 2,
  waiting: { interactive: 1, task: 7 },
  concurrency: 4,
  requestsPerSecond: 9.5,
  budget: { day: '2026-11-15', used: 120, limit: 500 },
  latency: { p50: 120, p95: 480 },
  requests: 4711,
  answerSeconds: 12.5,
  refused: 3,
  errors: { timeout: 5, 'status-503': 2 },
  state: 'probing',
  failuresInARow: 5,
  failingSince: 1_700_000_000_000,
  lastFailure: { at: 1_700_000_000_000, reason: 'status-503' },
  breaker: 'half-open',
  retryAfter: null,
  closed: { reason: 'failing', until: 1_800_000_000_000 },
  pause: null,
};

const FEED: FeedStatus = {
  name: 'parcels',
  type: 'webhook',
  layers: ['world'],
  action: 'invalidate',
  state: 'ok',
  lastAt: null,
  lastError: null,
  received: 4,
  applied: 3,
  pending: 1,
};

function open(read = hit) {
  const counters = new Counters();
  const status = { flights: 3, waitingReads: 5, memoryTierBytes: 1024, memoryTierTiles: 2 };
  const app = createTestApp({
    deps: {
      pipeline: { read },
      metrics: {
        pipeline: { status: () => status },
        counters,
        eventLoop: { take: () => ({ p50: 1e6, p99: 5e6, max: 9e6 }), close: () => {} },
        process: processUsage,
        upstreams: () => [STATUS],
        node: { leads: () => true, isAway: () => false },
        readerKeys: { figures: () => [{ id: 7, name: 'portal', answered: 3, refused: 1 }] },
      },
      tasks: tasksWith({ pending: 1, running: 2, paused: 0, done: 40, aborted: 1 }),
      quota: quotaWith([{ name: 'world', bytes: 4096, tiles: 7 }]),
      changes: {
        list: async () => [FEED, { ...FEED, name: 'edits', state: 'failing' }],
        webhook: () => null,
        recent: async () => [],
        replay: async () => null,
      },
    },
  });
  const page = async () => {
    const { status: code, headers, text } = await app.request('GET', '/metrics');
    expect(code).toBe(200);
    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    return text;
  };
  return { app, page, counters };
}

function tasksWith(states: Record<string, number>): TaskService {
  const outcomes = { ok: 38, partial: 1, failed: 1, stopped: 1 };
  return { figures: async () => ({ states, outcomes, tilesPerSecond: 12.5 }) } as unknown as TaskService;
}

function quotaWith(layers: readonly object[]): QuotaService {
  const usage = {
    layers,
    sweeping: { bytes: 99, files: 1 },
    quota: { enabled: false },
    evicted: { pages: 1, tiles: 20, bytes: 300 },
    disks: new Map([['default', { freeBytes: 4096, storing: false }]]),
  };
  return { usage: async () => usage } as unknown as QuotaService;
}

describe('/metrics', () => {
  it('/metrics shows whether the node leads, and whether it reaches the database', async () => {
    const text = await open().page();
    expect(text).toContain('tilewarden_node_leader 1');
    expect(text).toContain('tilewarden_node_database_up 1');
  });

  it('/metrics shows only that the database is away, since no caller can be authenticated then', async () => {
    const node = { leads: () => false, isAway: () => true };
    const app = createTestApp({ deps: { isAway: node.isAway, metrics: { ...testDeps().metrics, node } } });
    const { status, text } = await app.request('GET', '/metrics');
    const samples = text.split('\n').filter((line) => /^[a-z]/.test(line));
    expect([status, samples]).toEqual([200, ['tilewarden_node_database_up 0']]);
    expect((await app.request('POST', '/metrics')).status).toBe(503);
    expect((await app.request('GET', '/api/v1/tasks')).status).toBe(503);
  });

  it('/metrics distinguishes failed tasks from those that a user stopped', async () => {
    const text = await open().page();
    expect(text).toContain('tilewarden_task_outcomes{outcome="failed"} 1');
    expect(text).toContain('tilewarden_task_outcomes{outcome="stopped"} 1');
  });

  it('/metrics shows which change feed fails', async () => {
    const text = await open().page();
    expect(text).toContain('tilewarden_changes_failing{feed="parcels"} 0');
    expect(text).toContain('tilewarden_changes_failing{feed="edits"} 1');
  });

  it('/metrics counts the requests to object stores, those of workers included', async () => {
    const { page, counters } = open();
    const labels = { store: 'far', operation: 'get' };
    const ofWorker = new Counters(() => [{ name: 'store_requests_total', labels, value: 5 }]);
    counters.count('store_requests_total', labels, 2);
    for (const count of ofWorker.take()) counters.add(count);
    counters.count('store_request_failures_total', labels);
    counters.count('store_request_bytes_total', labels, 1000);
    const text = await page();
    expect(text).toContain('tilewarden_store_requests_total{store="far",operation="get"} 7');
    expect(text).toContain('tilewarden_store_request_failures_total{store="far",operation="get"} 1');
    expect(text).toContain('tilewarden_store_request_bytes_total{store="far",operation="get"} 1000');
  });

  it('/metrics counts tile requests by layer and outcome', async () => {
    const outcomes = ['HIT', 'HIT', 'MISS', 'STALE'] as const;
    let number = 0;
    const { app, page } = open(async () => {
      const outcome = outcomes[number++];
      if (!outcome) throw new TilewardenError('source-timeout', 'The map source did not answer in time.');
      return tileResponse({ outcome });
    });
    for (let i = 0; i < 5; i++) await app.request('GET', '/tiles/world/0/0/0.png');
    const text = await page();
    expect(text).toContain('tilewarden_tile_requests_total{layer="world",outcome="hit"} 2');
    expect(text).toContain('tilewarden_tile_requests_total{layer="world",outcome="miss"} 1');
    expect(text).toContain('tilewarden_tile_requests_total{layer="world",outcome="source-timeout"} 1');
  });

  it('/metrics makes no series of names that callers invent', async () => {
    const { app, page } = open();
    for (let i = 0; i < 20; i++) await app.request('GET', `/tiles/invented-${i}/0/0/0.png`);
    expect(await page()).not.toContain('invented');
  });

  it('/metrics escapes names of layers', async () => {
    const { page, counters } = open();
    counters.count('flights_started_total', { layer: 'a"b\\c\nd' });
    expect(await page()).toContain('tilewarden_flights_started_total{layer="a\\"b\\\\c\\nd"} 1');
  });

  it('/metrics shows what the gate refused, joined flights, and queue lengths', async () => {
    const { page, counters } = open();
    counters.count('gate_refusals_total', { layer: 'world', reason: 'html' });
    counters.count('flights_joined_total', { layer: 'world' }, 199);
    const text = await page();
    expect(text).toContain('tilewarden_gate_refusals_total{layer="world",reason="html"} 1');
    expect(text).toContain('tilewarden_flights_joined_total{layer="world"} 199');
    expect(text).toContain('tilewarden_waiting_reads 5');
  });

  it('/metrics shows each upstream host', async () => {
    const text = await open().page();
    const host = 'host="maps.example.org:443"';
    expect(text).toContain(`tilewarden_upstream_requests_total{${host}} 4711`);
    expect(text).toContain(`tilewarden_upstream_errors_total{${host},reason="timeout"} 5`);
    expect(text).toContain(`tilewarden_upstream_waiting{${host},priority="task"} 7`);
    expect(text).toContain(`tilewarden_upstream_latency_seconds{${host},quantile="0.95"} 0.48`);
    expect(text).toContain(`tilewarden_upstream_breaker_state{${host},state="half-open"} 1`);
    expect(text).toContain(`tilewarden_upstream_breaker_state{${host},state="closed"} 0`);
    expect(text).toContain(`tilewarden_upstream_budget_used{${host}} 120`);
    expect(text).toContain(`tilewarden_upstream_closed_until_seconds{${host},reason="failing"} 1800000000`);
  });

  it('/metrics shows tasks, the ledger and the process, and the same numbers when requested twice', async () => {
    const { page } = open();
    await page();
    const text = await page();
    expect(text).toContain('tilewarden_tasks{state="running"} 2');
    expect(text).toContain('tilewarden_task_tiles_per_second 12.5');
    expect(text).toContain('tilewarden_cache_bytes{layer="world"} 4096');
    expect(text).toContain('tilewarden_evicted_tiles_total 20');
    expect(text).toContain('tilewarden_store_free_bytes{store="default"} 4096');
    expect(text).toContain('tilewarden_store_storing{store="default"} 0');
    expect(text).toContain('tilewarden_event_loop_delay_seconds{quantile="0.99"} 0.005');
    expect(text).toMatch(/process_resident_memory_bytes \d+/);
  });
});
