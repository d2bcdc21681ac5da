import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metric } from './metric-sheet.ts';

const RESOLUTION_MS = 20;

export type EventLoopWatch = ReturnType<typeof openEventLoopWatch>;

/** Measures the delay of the event loop fifty times a second. */
export function openEventLoopWatch() {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  return {
    /** Nanoseconds since the last call. */
    take(): { readonly p50: number; readonly p99: number; readonly max: number } {
      const taken = {
        p50: lateBy(delays.percentile(50)),
        p99: lateBy(delays.percentile(99)),
        max: lateBy(delays.max),
      };
      delays.reset();
      return taken;
    },
    close: (): void => void delays.disable(),
  };
}

type Delays = ReturnType<EventLoopWatch['take']>;
const gauge = (name: string, help: string, read: () => number): Metric<Delays> => ({
  kind: 'gauge',
  name,
  help,
  read,
});

/** Names that dashboards for Node.js use. */
export function processMetrics(): readonly Metric<Delays>[] {
  const startedAt = Math.round(performance.timeOrigin / 1000);
  const seconds = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1e6;
  const memory = process.memoryUsage;
  return [
    {
      ...gauge('process_cpu_seconds_total', 'Processor time of the server process', () =>
        seconds(process.cpuUsage()),
      ),
      kind: 'counter',
    },
    gauge('process_resident_memory_bytes', 'Memory of the server process', () => memory.rss()),
    gauge('nodejs_heap_size_used_bytes', 'Heap in use', () => memory().heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory outside the heap, e.g. of tiles', () => memory().external),
    gauge('process_start_time_seconds', 'When the process started, since 1970', () => startedAt),
    {
      kind: 'gauge',
      name: 'tilewarden_event_loop_delay_seconds',
      help: 'How late the event loop was since the last scrape, measured every 20 ms',
      labels: ['quantile'],
      read: ({ p50, p99, max }) => [
        [p50 / 1e9, { quantile: '0.5' }],
        [p99 / 1e9, { quantile: '0.99' }],
        [max / 1e9, { quantile: '1' }],
      ],
    },
  ];
}

/** Without the sampling interval; 0 before the first measurement, which is NaN. */
function lateBy(nanoseconds: number): number {
  return Math.max(0, (Number.isFinite(nanoseconds) ? nanoseconds : 0) - RESOLUTION_MS * 1e6);
}
