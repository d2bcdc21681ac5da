import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { MetricSheet } from './metric-sheet.ts';

const RESOLUTION_MS = 20;

export type EventLoopWatch = ReturnType<typeof openEventLoopWatch>;

/** Looks fifty times a second how late the event loop is. */
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

/** The names that dashboards for Node.js know already. */
export function addProcessMetrics(sheet: MetricSheet, eventLoop: EventLoopWatch): void {
  const cpu = sheet.counter('process_cpu_seconds_total', 'Processor time of the server process');
  const resident = sheet.gauge('process_resident_memory_bytes', 'Memory of the server process');
  const heap = sheet.gauge('nodejs_heap_size_used_bytes', 'Heap in use');
  const external = sheet.gauge('nodejs_external_memory_bytes', 'Memory outside the heap, e.g. of tiles');
  const started = sheet.gauge('process_start_time_seconds', 'When the process started, since 1970');
  const delay = sheet.gauge(
    'tilewarden_event_loop_delay_seconds',
    'How late the event loop was since the last look at this page, measured every 20 ms',
    ['quantile'],
  );
  const startedAt = Math.round(performance.timeOrigin / 1000);
  sheet.onLook(() => {
    const { user, system } = process.cpuUsage();
    const memory = process.memoryUsage();
    cpu.set((user + system) / 1e6);
    resident.set(memory.rss);
    heap.set(memory.heapUsed);
    external.set(memory.external);
    started.set(startedAt);
    const { p50, p99, max } = eventLoop.take();
    delay.set(p50 / 1e9, { quantile: '0.5' });
    delay.set(p99 / 1e9, { quantile: '0.99' });
    delay.set(max / 1e9, { quantile: '1' });
  });
}

/** What is measured is the time between two looks. Nothing measured yet is not a number. */
function lateBy(nanoseconds: number): number {
  return Math.max(0, (Number.isFinite(nanoseconds) ? nanoseconds : 0) - RESOLUTION_MS * 1e6);
}
