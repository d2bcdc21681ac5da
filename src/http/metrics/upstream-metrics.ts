import type { BreakerState, UpstreamReport, UpstreamStatus } from '../../domain/upstream-status.ts';
import type { MetricSheet } from './metric-sheet.ts';

const STATES: readonly BreakerState[] = ['closed', 'open', 'half-open'];

type Write = (status: UpstreamStatus) => void;

/** Hosts come from layers that an administrator declared, so there are few of them. */
export function addUpstreamMetrics(sheet: MetricSheet, report: UpstreamReport): void {
  const writers = [...counts(sheet), ...gauges(sheet), ...waits(sheet)];
  sheet.onLook(() => {
    for (const status of report()) for (const write of writers) write(status);
  });
}

function counts(sheet: MetricSheet): readonly Write[] {
  const count = (name: string, help: string) => sheet.counter(`tilewarden_upstream_${name}`, help, ['host']);
  const requests = count('requests_total', 'Requests sent to the host');
  const seconds = count('answer_seconds_total', 'Time from sending a request to the end of its answer');
  const refused = count('refused_total', 'Requests that were not sent, to spare the host');
  const errors = sheet.counter('tilewarden_upstream_errors_total', 'Requests that failed', [
    'host',
    'reason',
  ]);
  return [
    ({ host, ...status }) => requests.set(status.requests, { host }),
    ({ host, ...status }) => seconds.set(status.answerSeconds, { host }),
    ({ host, ...status }) => refused.set(status.refused, { host }),
    ({ host, ...status }) => {
      for (const [reason, failed] of Object.entries(status.errors)) errors.set(failed, { host, reason });
    },
  ];
}

function gauges(sheet: MetricSheet): readonly Write[] {
  const gauge = (name: string, help: string, ...labels: string[]) =>
    sheet.gauge(`tilewarden_upstream_${name}`, help, ['host', ...labels]);
  const inFlight = gauge('in_flight', 'Requests under way');
  const waiting = gauge('waiting', 'Requests that wait for their turn', 'priority');
  const concurrency = gauge('concurrency', 'Requests at once that the host seems to bear');
  const latency = gauge('latency_seconds', 'Of the latest answers', 'quantile');
  return [
    ({ host, ...status }) => inFlight.set(status.inFlight, { host }),
    ({ host, ...status }) => waiting.set(status.waiting.interactive, { host, priority: 'interactive' }),
    ({ host, ...status }) => waiting.set(status.waiting.task, { host, priority: 'task' }),
    ({ host, ...status }) => concurrency.set(status.concurrency, { host }),
    ({ host, ...status }) => {
      if (!status.latency) return;
      latency.set(status.latency.p50 / 1000, { host, quantile: '0.5' });
      latency.set(status.latency.p95 / 1000, { host, quantile: '0.95' });
    },
  ];
}

function waits(sheet: MetricSheet): readonly Write[] {
  const gauge = (name: string, help: string, ...labels: string[]) =>
    sheet.gauge(`tilewarden_upstream_${name}`, help, ['host', ...labels]);
  const breaker = gauge('breaker_state', '1 for the state the breaker is in', 'state');
  const used = gauge('budget_used', 'Requests counted against the budget of the day');
  const limit = gauge('budget_limit', 'The budget of a day');
  const until = gauge('closed_until_seconds', 'When tasks may ask again, since 1970; 0: now', 'reason');
  return [
    ({ host, ...status }) => {
      for (const state of STATES) breaker.set(state === status.breaker ? 1 : 0, { host, state });
    },
    ({ host, budget }) => {
      if (!budget) return;
      used.set(budget.used, { host });
      limit.set(budget.limit, { host });
    },
    ({ host, closed }) => until.set((closed?.until ?? 0) / 1000, { host, reason: closed?.reason ?? 'none' }),
  ];
}
