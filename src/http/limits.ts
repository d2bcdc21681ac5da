import { readFileSync } from 'node:fs';

/** Bounds on what one caller can ask of the server. Times in milliseconds, sizes in bytes. */
export const DEFAULT_LIMITS = {
  addressLength: 8 * 1024,
  headerSize: 16 * 1024,
  headerCount: 100,
  bodySize: 64 * 1024,
  /** From the first byte of a request to the end of its headers. */
  headersTimeout: 9_000,
  /** From the first byte of a request to the end of its body. */
  requestTimeout: 10_000,
  /** How long a connection may make no progress at all: between requests, or because the caller does not read. */
  idleTimeout: 120_000,
  /** How long a caller that has ended its side of the connection is waited for: it may have gone away. */
  halfClosedTimeout: 5_000,
  /** How often slow connections are looked for. */
  connectionsCheckingInterval: 1_000,
  /** Fewer where the process may open few files. */
  connections: 10_000,
  /** Requests of one connection that are worked on at a time; those sent without waiting for answers wait for their turn. */
  requestsPerConnection: 64,
  /** Requests of one connection that wait for their turn. */
  waitingPerConnection: 4096,
  eventStreams: 100,
  eventStreamsOfOne: 25,
  /** How often the caller of an endless response is checked again. */
  streamCheckInterval: 2_000,
  /** Concurrent requests that need a role. */
  adminRequests: 100,
  adminRequestsOfOne: 80,
  /** How long a stop keeps connections on which the next request may be on its way already, after the last that came so. */
  farewell: 1_000,
  drainTimeout: 8_000,
};
export type HttpLimits = Readonly<typeof DEFAULT_LIMITS>;

const LIMITS_FILE = '/proc/self/limits';
/** Of all the files that may be open, what connections may take. The rest is for tiles, the database and upstreams. */
const SHARE = 0.75;
const KEPT = 64;
const MIN_CONNECTIONS = 32;

/** How many connections fit beside everything else that is opened. */
export function mostConnections(wanted: number, openFiles: number | null): number {
  if (openFiles === null) return wanted;
  return Math.min(wanted, Math.max(MIN_CONNECTIONS, Math.floor(openFiles * SHARE) - KEPT));
}

/** How many files, sockets included, this process may have open; null where that is not known. */
export function openFilesLimit(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync(LIMITS_FILE, 'utf8'))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
