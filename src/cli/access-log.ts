import { createReadStream } from 'node:fs';
import type { ApiResponse } from '../app.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { cutLines } from '../lib/scan-text.ts';
import { misuse } from './command.ts';
import { readResponse, type ServerClient } from './server-client.ts';

/** Longer addresses are not tiles. */
const MAX_ADDRESS = 2000;
/** The rest of a longer line is left out. */
const MAX_LINE = 16_384;
const STANDARD_INPUT = '-';

/** Addresses of requests answered with 2xx or 304; see `tileRequestIn`. `file`: `-` is standard input. */
export async function* answeredRequests(file: string, flag: string): AsyncGenerator<string> {
  const input = file === STANDARD_INPUT ? process.stdin : createReadStream(file);
  try {
    for await (const line of cutLines(input.setEncoding('utf8'), MAX_LINE)) {
      const address = tileRequestIn(line);
      if (address !== null) yield address;
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw misuse(`--${flag} ${file} cannot be read: ${why}`);
  }
}

/** `… "GET /tiles/… HTTP/1.1" 200 …` */
const COMBINED = /"(?:GET|HEAD) (\S+)(?: HTTP\/[\d.]+)?" (\d{3}) /;
/** uWSGI's own: `… GET /tiles/… => generated 512 bytes in 3 msecs (HTTP/1.1 200) …` */
const UWSGI =
  /\] (?:GET|HEAD) (\S+) => generated \d{1,12} bytes in \d{1,12} [a-z]{1,9} \(HTTP\/[\d.]+ (\d{3})\)/;

/** The address in a line of Combined Log Format, uWSGI's or JSON; null: not GET or HEAD, not 2xx or 304, or damaged. */
export function tileRequestIn(line: string): string | null {
  const [address = '', status = 0] = line.startsWith('{') ? jsonRequest(line) : combinedRequest(line);
  const wasAnswered = (status >= 200 && status < 300) || status === 304;
  return wasAnswered && address !== '' && address.length <= MAX_ADDRESS ? address : null;
}

function combinedRequest(line: string): [string?, number?] {
  const [, address = '', status] = COMBINED.exec(line) ?? UWSGI.exec(line) ?? [];
  return [address.replace(/\\x([0-9a-f]{2})/gi, '%$1'), Number(status)];
}

/** Tilewarden's own line: `method`, `path`, `status`. */
function jsonRequest(line: string): [string?, number?] {
  try {
    const { method, path, status } = JSON.parse(line) as Record<string, unknown>;
    const reads = method === 'GET' || method === 'HEAD';
    return reads && typeof path === 'string' ? [path, Number(status)] : [];
  } catch {
    return [];
  }
}

type TileAddresses = ApiResponse<'POST /api/v1/tile-addresses'>;

export interface UsedTileSet {
  readonly set: TileAddresses['tileSets'][number];
  /** All that were counted. */
  readonly requests: number;
  /** Zoom, column and row of a page, and requests for it; the most used first, and no more than a task takes. */
  readonly uses: readonly (readonly [number, number, number, number])[];
}

interface CountedSet {
  readonly set: UsedTileSet['set'];
  pages: Map<string, number>;
}

/** Different addresses that are sent together; a body has at most 64 KiB. */
const MAX_ADDRESSES = 500;
const MAX_CHARACTERS = 40_000;
/** Pages counted of a tile set; rare ones make room for others. */
const MAX_PAGES = 50_000;
/** Pages of a tile set in one task. */
const MAX_SENT = 3000;

/** Counts the requested pages in an access log. The server resolves addresses to tiles. */
export async function pagesInLog(client: ServerClient, file: string, layer: string) {
  const sets = new Map<string, CountedSet>();
  const counts = { requests: 0, tiles: 0 };
  let waiting = new Map<string, number>();
  let characters = 0;

  async function resolve(): Promise<void> {
    const addresses = [...waiting];
    [waiting, characters] = [new Map(), 0];
    if (addresses.length === 0) return;
    const body = { addresses: addresses.map(([address]) => address) };
    const response = readResponse<TileAddresses>(await client.post('/api/v1/tile-addresses', body), 'pages');
    for (const [i, [, times]] of addresses.entries()) {
      const [number = -1, ...place] = response.pages[i] ?? [];
      const set = response.tileSets[number];
      if (set?.layer !== layer) continue;
      counts.tiles += times;
      const counted = getOrCreate(sets, JSON.stringify(set), () => ({ set, pages: new Map() }));
      const key = place.join('/');
      counted.pages.set(key, (counted.pages.get(key) ?? 0) + times);
      if (counted.pages.size >= 2 * MAX_PAGES) counted.pages = new Map(sorted(counted).slice(0, MAX_PAGES));
    }
  }

  for await (const address of answeredRequests(file, 'from-log')) {
    counts.requests++;
    if (!waiting.has(address)) characters += address.length + 3;
    waiting.set(address, (waiting.get(address) ?? 0) + 1);
    if (waiting.size >= MAX_ADDRESSES || characters >= MAX_CHARACTERS) await resolve();
  }
  await resolve();
  return { ...counts, sets: [...sets.values()].map(usedTileSet).sort((a, b) => b.requests - a.requests) };
}

function sorted({ pages }: CountedSet): readonly [string, number][] {
  return [...pages].sort(([, a], [, b]) => b - a);
}

function usedTileSet(counted: CountedSet): UsedTileSet {
  const uses = sorted(counted)
    .slice(0, MAX_SENT)
    .map(([key, times]) => {
      const [z = 0, x = 0, y = 0] = key.split('/').map(Number);
      return [z, x, y, times] as const;
    });
  const requests = [...counted.pages.values()].reduce((sum, times) => sum + times, 0);
  return { set: counted.set, requests, uses };
}
