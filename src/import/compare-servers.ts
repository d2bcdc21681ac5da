import { errorCode } from '../lib/error-code.ts';
import { trimEndOf } from '../lib/scan-text.ts';
import { compareImages } from '../raster/compare-images.ts';
import type { OutboundProxies } from '../sources/upstream/outbound-proxy.ts';
import { openProxiedFetch } from '../sources/upstream/proxied-fetch.ts';
import {
  type Comparison,
  compareResponses,
  type NoResponse,
  type ServerResponse,
} from './compare-responses.ts';

export interface ComparedServer {
  /** May have a path. */
  readonly url: string;
  readonly authorization: string | null;
}

interface ComparisonOptions {
  readonly old: ComparedServer;
  readonly new: ComparedServer;
  /** Paths with their queries, as in the old server's log. */
  readonly addresses: readonly string[];
  /** Difference of a channel, 0 to 255. */
  readonly tolerance: number;
  /** Requests that each server gets at the same time. */
  readonly concurrency: number;
  /** Whether results contain the pictures that differ, up to a limit. */
  readonly keepPictures: boolean;
  readonly proxies: OutboundProxies;
  readonly userAgent: string;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number) => void;
}

const TIMEOUT_MS = 60_000;
const MAX_BYTES = 32 * 2 ** 20;
/** Limit of the pictures in all results. */
const MAX_KEPT_BYTES = 48 * 2 ** 20;
/** Failed connections in a row after which a server counts as down; fewer if there are fewer requests. */
const MAX_UNREACHABLE = 5;

/** Results are in the order of the addresses. Rejects when a server is down, or with the signal's reason. */
export async function compareServers(options: ComparisonOptions): Promise<readonly Comparison[]> {
  const proxied = openProxiedFetch(options.proxies);
  const get = [options.old, options.new].map((server) => createGet(server, options, proxied?.fetch ?? fetch));
  const results: Comparison[] = [];
  let [next, done] = [0, 0];
  let room = options.keepPictures ? MAX_KEPT_BYTES : 0;
  const keep = (row: Comparison) => {
    room -= row.verdict === 'same' ? 0 : sizeOf(row);
    return row.verdict === 'same' || room < 0 ? withoutPictures(row) : row;
  };
  const compareNext = async () => {
    while (next < options.addresses.length) {
      const at = next++;
      const address = options.addresses[at] ?? '';
      const path = withoutPrefix(address, new URL(options.old.url).pathname);
      const responses = await Promise.all(get.map((one) => one(path)));
      const { tolerance } = options;
      const compare = (one: Buffer, other: Buffer) => compareImages(one, other, tolerance);
      results[at] = keep(await compareResponses(address, responses, tolerance, compare));
      options.onProgress(++done);
    }
  };
  try {
    await Promise.all(Array.from({ length: options.concurrency }, compareNext));
    return results;
  } finally {
    next = options.addresses.length;
    await proxied?.close();
  }
}

function sizeOf({ old, new: fresh, marked }: Comparison): number {
  const sizes = [old, fresh].map((one) => (typeof one === 'string' ? 0 : one.bytes.length));
  return sizes.reduce((sum, size) => sum + size, marked?.length ?? 0);
}

function withoutPictures(row: Comparison): Comparison {
  const empty = (one: ServerResponse | NoResponse) =>
    typeof one === 'string' ? one : { ...one, bytes: Buffer.alloc(0) };
  return { ...row, old: empty(row.old), new: empty(row.new), marked: null };
}

/** Paths in a log begin with that of the old server's address, unless a proxy removes it. */
function withoutPrefix(address: string, prefix: string): string {
  const base = trimEndOf(prefix, /\//);
  return address.startsWith(`${base}/`) || address.startsWith(`${base}?`)
    ? address.slice(base.length)
    : address;
}

function createGet(
  { url, authorization }: ComparedServer,
  { addresses, signal, userAgent }: ComparisonOptions,
  send: typeof fetch,
): (path: string) => Promise<ServerResponse | NoResponse> {
  const base = trimEndOf(url, /\//);
  const headers = {
    'user-agent': userAgent,
    'accept-encoding': 'identity',
    ...(authorization !== null && { authorization }),
  };
  let unreachable = 0;
  const maxUnreachable = Math.min(MAX_UNREACHABLE, addresses.length);
  return async (path) => {
    const late = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await send(`${base}${path}`, {
        headers,
        redirect: 'manual',
        signal: AbortSignal.any([late, signal]),
      });
      unreachable = 0;
      const bytes = await boundedBody(response);
      return bytes === null
        ? `more than ${MAX_BYTES / 2 ** 20} MiB`
        : { status: response.status, headers: response.headers, bytes };
    } catch (error) {
      signal.throwIfAborted();
      if (late.aborted) return 'no answer in time';
      const why = errorCode(error) ?? errorCode((error as Error).cause) ?? String(error);
      if (++unreachable >= maxUnreachable) throw new Error(`${base} cannot be reached (${why}).`);
      return `no connection (${why})`;
    }
  };
}

/** Null: it is too large. */
async function boundedBody({ body }: Response): Promise<Buffer | null> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body ?? []) {
    length += part.length;
    if (length > MAX_BYTES) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
