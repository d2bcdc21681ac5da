import { readFileSync } from 'node:fs';

/** Limits of the server, of one connection or, as `…OfOne`, of one account. Times in milliseconds, sizes in bytes. */
export const DEFAULT_LIMITS = {
  addressLength: 8 * 1024,
  headerSize: 16 * 1024,
  headerCount: 100,
  bodySize: 64 * 1024,
  /** From the first byte of a request to the end of its headers. */
  headersTimeout: 9_000,
  /** From the first byte of a request to the end of its body. */
  requestTimeout: 10_000,
  /** How long a connection may make no progress: between requests, or because the client does not read. */
  idleTimeout: 120_000,
  /** How long a response may take to begin after the client has closed its side of the connection: it may have left. */
  halfClosedTimeout: 5_000,
  /** Interval of the check for slow connections. */
  connectionsCheckingInterval: 1_000,
  /** Fewer where the process may open few files. */
  connections: 10_000,
  /** Concurrent requests of one connection; further pipelined requests wait. */
  requestsPerConnection: 64,
  waitingPerConnection: 4096,
  eventStreams: 100,
  eventStreamsOfOne: 25,
  /** How often the caller of a stream is authenticated again. */
  streamCheckInterval: 2_000,
  /** Concurrent requests that need a role. */
  adminRequests: 100,
  adminRequestsOfOne: 80,
  /** On shutdown, how long idle keep-alive connections stay open after their last request: the next one may be in flight. */
  keepAliveDrain: 1_000,
  drainTimeout: 8_000,
};
export type HttpLimits = Readonly<typeof DEFAULT_LIMITS>;

const LIMITS_FILE = '/proc/self/limits';
/** The share of open files for connections. `RESERVED` and the rest are for tiles, the database and map servers. */
const SHARE = 0.75;
const RESERVED = 64;
const MIN_CONNECTIONS = 32;

/** The limit of connections, given the limit of open files. */
export function mostConnections(limit: number, openFiles: number | null): number {
  if (openFiles === null) return limit;
  return Math.min(limit, Math.max(MIN_CONNECTIONS, Math.floor(openFiles * SHARE) - RESERVED));
}

/** The limit of open files, sockets included; null: unknown. */
export function openFilesLimit(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync(LIMITS_FILE, 'utf8'))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
