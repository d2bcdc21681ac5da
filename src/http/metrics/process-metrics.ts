/** Metrics of the server's processes, and the sheet that writes metrics for Prometheus. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Counter, Gauge } from 'prom-client';

const RESOLUTION_MS = 20;

export type EventLoopWatch = ReturnType<typeof openEventLoopWatch>;

/** Samples the delay of the event loop until it is closed. */
export function openEventLoopWatch() {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  return {
    /** Percentiles of the delay since the last call, in nanoseconds. */
    take(): { readonly p50: number; readonly p99: number; readonly max: number } {
      const percentiles = {
        p50: lateBy(delays.percentile(50)),
        p99: lateBy(delays.percentile(99)),
        max: lateBy(delays.max),
      };
      delays.reset();
      return percentiles;
    },
    close: (): void => void delays.disable(),
  };
}

/** Processor time and memory of one process, or of all processes of the server together. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
}

export function processUsage(): ProcessUsage {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: rss,
    heapBytes: heapUsed,
    externalBytes: external,
  };
}

/** Only the processor time of an ended process still counts. */
export function formerUsage({ cpuSeconds }: ProcessUsage): ProcessUsage {
  return { cpuSeconds, residentBytes: 0, heapBytes: 0, externalBytes: 0 };
}

type Figures = ReturnType<EventLoopWatch['take']> & ProcessUsage;
function gauge(name: string, help: string, read: (figures: Figures) => number): Metric<Figures> {
  return { kind: 'gauge', name, help, read };
}

/** The names `process_…` and `nodejs_…` are those of prom-client: dashboards use them. */
export const PROCESS_METRICS: readonly Metric<Figures>[] = [
  {
    kind: 'counter',
    name: 'process_cpu_seconds_total',
    help: 'Processor time of all processes of the server',
    read: ({ cpuSeconds }) => cpuSeconds,
  },
  gauge('process_resident_memory_bytes', 'Memory of all processes', (now) => now.residentBytes),
  gauge('nodejs_heap_size_used_bytes', 'Heap in use', (now) => now.heapBytes),
  gauge('nodejs_external_memory_bytes', 'Memory outside the heap, e.g. of tiles', (now) => now.externalBytes),
  gauge('process_start_time_seconds', 'When the process started, since 1970', () =>
    Math.round(performance.timeOrigin / 1000),
  ),
  {
    kind: 'gauge',
    name: 'tilewarden_event_loop_delay_seconds',
    help: 'Delay of the event loop since the last scrape, sampled every 20 ms',
    labels: ['quantile'],
    read: ({ p50, p99, max }) => [
      [p50 / 1e9, { quantile: '0.5' }],
      [p99 / 1e9, { quantile: '0.99' }],
      [max / 1e9, { quantile: '1' }],
    ],
  },
];

/** Subtracts the sampling interval, which the histogram includes. Before the first sample it has NaN. */
function lateBy(nanoseconds: number): number {
  return Math.max(0, (Number.isFinite(nanoseconds) ? nanoseconds : 0) - RESOLUTION_MS * 1e6);
}

type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [value: number, labels?: Labels];

/** `counter`: a sum since the start. */
export interface Metric<Source> {
  readonly kind: 'gauge' | 'counter';
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** The current value; null: unknown. */
  readonly read: (source: Source) => number | null | Iterable<Sample>;
}

interface Page {
  readonly body: string;
  readonly contentType: string;
}

/**
 * A page of metrics for Prometheus. Other rooms count in plain numbers, which each scrape copies: counting costs a
 * request only an increment.
 */
export class MetricSheet {
  readonly #parts: ((familyOf: (metric: Metric<never>) => Counter | Gauge) => Promise<void>)[] = [];
  #writing: Promise<Page> | null = null;

  /** `read` is called once for each scrape. */
  add<Source>(read: () => Source | Promise<Source>, metrics: readonly Metric<Source>[]): void {
    this.#parts.push(async (familyOf) => {
      const source = await read();
      for (const metric of metrics) {
        const family = familyOf(metric);
        const samples = metric.read(source) ?? [];
        for (const [value, labels = {}] of typeof samples === 'number' ? [[samples] as const] : samples)
          family.inc({ ...labels }, value);
      }
    });
  }

  /** Concurrent scrapes share one page. */
  write(): Promise<Page> {
    this.#writing ??= this.#writeNow().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** prom-client is loaded with the first scrape, so that the server starts faster. */
  async #writeNow(): Promise<Page> {
    const { Counter, Gauge, Registry } = await import('prom-client');
    const registry = new Registry();
    for (const part of this.#parts) {
      await part(({ kind, name, help, labels = [] }) => {
        const options = { name, help, labelNames: [...labels], registers: [registry] };
        return kind === 'gauge' ? new Gauge(options) : new Counter(options);
      });
    }
    return { body: await registry.metrics(), contentType: registry.contentType };
  }
}
