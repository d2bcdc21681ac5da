import type { BreakerState } from '../lib/breaker.ts';
import { sumRecords } from '../lib/counters.ts';
import { isTilewardenError } from './errors.ts';

export type { BreakerOutage as HostOutage, BreakerState } from '../lib/breaker.ts';

/** `paused`: by an operator, until it is resumed. */
export const HOST_CLOSED_REASONS = [
  'quiet-hours',
  'daily-budget',
  'retry-after',
  'failing',
  'paused',
] as const;
export type HostClosedReason = (typeof HOST_CLOSED_REASONS)[number];

/** A pause of a host by an operator. */
export interface HostPause {
  readonly by: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface HostClosing {
  readonly reason: HostClosedReason;
  /** Milliseconds since 1970; no requests are sent before. Of `paused`, when to check again. */
  readonly until: number;
  /** Kind of failure, e.g. `connection`, `timeout`, `status-503`; only while failing. */
  readonly failure?: string;
  /** Milliseconds since 1970 from which on every request has failed; only where it fails again and again. */
  readonly since?: number;
}

/**
 * `healthy`: its last request succeeded, or none was sent. `failing`: its last request failed. `probing`: it failed,
 * and a request is testing it. `paused`: no requests are sent for another reason.
 */
export type HostState = 'healthy' | 'probing' | 'paused' | 'failing';

export interface HostFailure {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** One of the kinds in `errors`. */
  readonly reason: string;
}

/** The state of one upstream host, over all processes of this server. */
export interface UpstreamStatus {
  /** `host:port`. */
  readonly host: string;
  readonly limits: {
    readonly concurrency: number;
    readonly ratePerSecond: number | null;
    readonly dailyBudget: number | null;
    readonly quietHours: readonly string[];
    readonly timeZone: string;
  };
  readonly inFlight: number;
  readonly waiting: { readonly interactive: number; readonly task: number };
  /** Concurrent requests that it seems to handle now; never above the limit. */
  readonly concurrency: number;
  /** Begun in the last ten seconds, on average. */
  readonly requestsPerSecond: number;
  /** For the current day in the host's time zone; null without a budget. */
  readonly budget: { readonly day: string; readonly used: number; readonly limit: number } | null;
  /** Latencies of recent responses, in milliseconds; null before the first. */
  readonly latency: { readonly p50: number; readonly p95: number } | null;
  /** Since the server started. */
  readonly requests: number;
  readonly answerSeconds: number;
  readonly refused: number;
  /** By reason, e.g. `timeout`, `connection`, `status-503`. */
  readonly errors: Readonly<Record<string, number>>;
  readonly state: HostState;
  /** Without a success in between. */
  readonly failuresInARow: number;
  /** Time of the first of them, in milliseconds since 1970; null: none. */
  readonly failingSince: number | null;
  readonly lastFailure: HostFailure | null;
  readonly breaker: BreakerState;
  /** Milliseconds since 1970; from the host's `Retry-After`. */
  readonly retryAfter: number | null;
  /** Why tasks wait; null: they do not. */
  readonly closed: HostClosing | null;
  /** Null: no operator has paused it. */
  readonly pause: HostPause | null;
}

/** A reason for failing in words, e.g. `HTTP 503`. */
export function failureText(reason: string): string {
  const status = /^status-(\d+)$/.exec(reason)?.[1];
  if (status !== undefined) return `HTTP ${status}`;
  return FAILURES[reason] ?? reason;
}

const FAILURES: Readonly<Record<string, string>> = {
  connection: 'no connection',
  timeout: 'no answer in time',
};

/** Reports every host that was used or looked up since the start, or is paused. */
export type UpstreamReport = () => readonly UpstreamStatus[];

/** The cause of a failure whose request was never sent: its host is paused until a known time. */
export class HostClosed extends Error {
  readonly host: string;
  readonly closing: HostClosing;

  constructor(host: string, closing: HostClosing) {
    super(`${host} is paused until ${new Date(closing.until).toISOString()}: ${closing.reason}`);
    this.name = 'HostClosed';
    this.host = host;
    this.closing = closing;
  }
}

/** Null when the failure is of another kind. */
export function hostClosedIn(error: unknown): HostClosed | null {
  return isTilewardenError(error) && error.cause instanceof HostClosed ? error.cause : null;
}

/** Statuses from a proxy whose map server is down. */
const SERVER_DOWN = [502, 503, 504];

/** The host is unreachable: any other request would have failed too. */
export function isHostAway(error: unknown): boolean {
  if (!isTilewardenError(error, 'source-unavailable')) return false;
  return error.reason === 'connection' || SERVER_DOWN.includes(error.upstream?.status ?? 0);
}

/** The status that remains when the process that used the host has ended. */
export function withoutRequests(host: UpstreamStatus): UpstreamStatus {
  const none = { inFlight: 0, waiting: { interactive: 0, task: 0 }, requestsPerSecond: 0 };
  return { ...host, ...none, state: 'healthy', failuresInARow: 0 };
}

/** Counts are summed, states are of the first process, unless another has found the host failing. */
export function mergeUpstreams(all: readonly UpstreamStatus[]): readonly UpstreamStatus[] {
  const hosts = new Map<string, UpstreamStatus>();
  for (const status of all) {
    const known = hosts.get(status.host);
    hosts.set(status.host, known ? mergeHost(known, status) : status);
  }
  return [...hosts.values()];
}

function mergeHost(a: UpstreamStatus, b: UpstreamStatus): UpstreamStatus {
  const worse = a.state === 'healthy' && b.state !== 'healthy' ? b : a;
  return {
    ...worse,
    inFlight: a.inFlight + b.inFlight,
    waiting: sumRecords([a.waiting, b.waiting]),
    requestsPerSecond: a.requestsPerSecond + b.requestsPerSecond,
    latency: worse.latency ?? a.latency ?? b.latency,
    budget: worse.budget && { ...worse.budget, used: Math.max(a.budget?.used ?? 0, b.budget?.used ?? 0) },
    requests: a.requests + b.requests,
    answerSeconds: a.answerSeconds + b.answerSeconds,
    refused: a.refused + b.refused,
    errors: sumRecords([a.errors, b.errors]),
    failuresInARow: Math.max(a.failuresInARow, b.failuresInARow),
    lastFailure: (a.lastFailure?.at ?? 0) >= (b.lastFailure?.at ?? 0) ? a.lastFailure : b.lastFailure,
  };
}

/** Places of a host's limit that a node wants; see `HostShares` in `sources/upstream`. */
export interface ShareWish {
  readonly limit: number;
  readonly wanted: number;
  /** Requests among them with a waiting client: they come first. */
  readonly urgent: number;
  /** Places for a next request, if no other node wants them. */
  readonly spare: number;
  readonly held: number;
}
