import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Contestant } from './load.ts';
import { childrenOf, endProcess, spawnBeside } from './processes.ts';
import { readJson } from './request.ts';

export interface ServerOptions {
  /** Its data folder; its configuration is written beside it. */
  readonly data: string;
  readonly config?: string;
  readonly command?: 'serve' | 'worker';
  /** By default those of a server on a free port, without accounts. */
  readonly flags?: readonly string[];
  /** Built before. */
  readonly checkout?: string;
  /** Measures turns of the event loop, and the heap. */
  readonly metered?: boolean;
}

export interface Turns {
  /** Milliseconds of the longest turn since the last call. */
  readonly longest: Readonly<Record<'clock' | 'processor', number>>;
  /** Milliseconds since the start. */
  readonly processor: number;
}

export interface Server {
  /** Without a slash at its end. */
  readonly url: string;
  readonly pid: number;
  /** Milliseconds from its start to its line "ready". */
  readonly readyAfter: number;
  turns(): Promise<Turns>;
  /** Bytes in use after a collection of garbage. */
  heap(): Promise<number>;
  stop(): Promise<void>;
  /** As in a crash. */
  kill(): Promise<void>;
}

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
export const SERVE_FLAGS = ['--no-auth', '--port', '0'];
// By an absolute path: threads load it too, from another working directory.
const METER = join(PROJECT, 'bench/harness/turn-meter.mjs');

/** The built server, or a worker process. */
export async function startServer({
  data,
  config = 'log: { level: warn }',
  command = 'serve',
  flags = SERVE_FLAGS,
  checkout = PROJECT,
  metered = false,
}: ServerOptions): Promise<Server> {
  const file = join(data, '..', 'tilewarden.yaml');
  const meterFile = join(data, '..', 'meter');
  mkdirSync(data, { recursive: true });
  writeFileSync(file, config);
  const meter = metered ? ['--import', METER] : [];
  const readMeter = <Figures>(path: string) =>
    readJson<Figures>(`http://127.0.0.1:${readFileSync(meterFile, 'utf8')}/${path}`);
  const start = performance.now();
  const server = await spawnBeside(
    process.execPath,
    [...meter, join(checkout, 'dist/cli/main.js'), command, ...flags, '--data', data, '--config', file],
    {
      cwd: checkout,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...(metered && { TURN_METER: meterFile }) },
    },
  );
  if (!server.stdout) throw new Error('The server has no output.');
  for await (const line of createInterface({ input: server.stdout })) {
    const [isReady, url = ''] = /is ready(?: at (\S+)\/)?$/.exec(line) ?? [];
    if (isReady === undefined) continue;
    return {
      url,
      pid: server.pid ?? 0,
      readyAfter: performance.now() - start,
      turns: () => readMeter('turns'),
      heap: () => readMeter('heap'),
      stop: () => endProcess(server),
      kill: () => endProcess(server, 'SIGKILL'),
    };
  }
  throw new Error('The server did not start.');
}

/** The server, with its processes, as one of those that a load compares. */
export function contestantOf(
  { url, pid, stop }: Server,
  name: string,
  tiles: string,
  layer = 'world',
): Contestant {
  const pids = () => [pid, ...childrenOf(pid)];
  return { name, url, prefix: `/tiles/${layer}`, tiles, pids, stop };
}

/** A layer from a WMS in the configuration. By default its source is unreachable, so that only hits are possible. */
export function wmsLayer(name: string, url = 'http://127.0.0.1:9/wms', format = 'image/png'): string {
  const source = `{ type: wms, url: '${url}', layers: land }`;
  return `\n  - { name: ${name}, source: ${source}, formats: [${format}], gridSets: [EPSG:900913], metatile: [4, 4], gutter: 0 }`;
}

/** The limits of an upstream of a benchmark in the configuration. */
export function upstreamLimits(url: string, limits: string): string {
  return `upstreams: { '${new URL(url).host}': { ${limits}, allowPrivate: true } }\n`;
}
