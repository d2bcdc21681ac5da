import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dump as stringify } from 'js-yaml';
import { started } from '../../scripts/steps.mjs';
import { WAIT_TIMEOUT_MS } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { residentMemory } from '../fixtures/processes.ts';

export interface ScenarioServerOptions {
  /** The settings of the host in `upstreams`. */
  readonly limits?: object;
  /** Those of the host of a second layer. */
  readonly otherLimits?: object;
  /** 0: tasks run in the server's own process. */
  readonly workers?: number;
  /** The timeout of the source. */
  readonly timeoutSeconds?: number;
}

export interface TileResponse {
  readonly status: number;
  readonly cache: string | null;
  readonly retryAfter: number | null;
  readonly ms: number;
}

export interface ShownUpstream {
  readonly host: string;
  readonly breaker: string;
  readonly concurrency: number;
  readonly inFlight: number;
  readonly requests: number;
  readonly waitingUntil: string | null;
  readonly waitingReason: string | null;
}

export interface ShownTask {
  readonly id: number;
  readonly state: string;
  readonly tilesProcessed: number;
  readonly tilesTotal: number;
  readonly waitingFor: { readonly reason: string; readonly text: string } | null;
  readonly counters: { readonly failed: number };
}

export type ScenarioLayer = 'map' | 'other';

/** A server process with layers of single tiles, each on a mock upstream in this process. */
export interface ScenarioServer {
  readonly wms: MockWms;
  readonly otherWms: MockWms;
  /** With a slash at its end. */
  readonly url: string;
  /** Megabytes of memory that the server process takes. */
  memory(): number;
  tile(z: number, x: number, y: number, layer?: ScenarioLayer): Promise<TileResponse>;
  seed(zoomStop: number, threadCount?: number, layer?: ScenarioLayer): Promise<number>;
  /** Stops all tasks. */
  stopTasks(): Promise<void>;
  task(id: number): Promise<ShownTask>;
  upstream(): Promise<ShownUpstream>;
  close(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const READY = /^Tilewarden is ready at (http:\/\/\S+)$/m;

export async function openScenarioServer(options: ScenarioServerOptions = {}): Promise<ScenarioServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-scenario-'));
  const [wms, otherWms] = [await openMockWms(), await openMockWms()];
  const flags = { data: join(folder, 'data'), config: join(folder, 'tilewarden.yaml') };
  writeFileSync(flags.config, stringify(settingsFor(wms, otherWms, options)));
  const server = await started(
    spawn(process.execPath, [MAIN, 'serve', '--port', '0', ...flagsOf(flags)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const ended = once(server, 'exit');
  const url = await readyUrl(server);
  const json = async (path: string, body?: object) => {
    const request = body && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const answer = await fetch(url + path, request);
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as never;
  };
  return {
    wms,
    otherWms,
    url,
    memory: () => Math.round(residentMemory(server.pid ?? -1) / 2 ** 20),
    tile: (z, x, y, layer = 'map') => readTile(`${url}tiles/${layer}/${z}/${x}/${y}.png`),
    async seed(zoomStop, threadCount = 8, layer = 'map') {
      const task: ShownTask = await json('api/v1/tasks', { layer, type: 'seed', zoomStop, threadCount });
      return task.id;
    },
    stopTasks: () => json('api/v1/tasks/stop', { all: true }),
    task: (id) => json(`api/v1/tasks/${id}`),
    async upstream() {
      const { upstreams }: { upstreams: ShownUpstream[] } = await json('api/v1/upstreams');
      const [only] = upstreams;
      if (!only) throw new Error('the upstream has not been asked yet');
      return only;
    },
    async close() {
      server.kill('SIGTERM');
      await ended;
      await Promise.all([wms.close(), otherWms.close()]);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function flagsOf(flags: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
}

async function readyUrl(server: ChildProcess): Promise<string> {
  const signal = AbortSignal.timeout(WAIT_TIMEOUT_MS);
  let text = '';
  server.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  while (!READY.test(text)) {
    if (server.exitCode !== null || !server.stdout) throw new Error('the server did not start');
    await Promise.race([once(server.stdout, 'data', { signal }), once(server, 'exit', { signal })]);
  }
  return READY.exec(text)?.[1] ?? '';
}

function settingsFor(wms: MockWms, otherWms: MockWms, options: ScenarioServerOptions) {
  const { limits, otherLimits, workers = 0, timeoutSeconds = 15 } = options;
  const hosts = [
    { name: 'map', wms, limits },
    { name: 'other', wms: otherWms, limits: otherLimits },
  ];
  return {
    server: { port: 0 },
    access: { enabled: false },
    log: { level: 'silent' },
    tasks: { workers, maxThreads: 24 },
    upstreams: Object.fromEntries(
      hosts.map(({ wms: { origin }, limits }) => [new URL(origin).host, { allowPrivate: true, ...limits }]),
    ),
    layers: hosts.map(({ name, wms: { url } }) => ({
      name,
      source: { type: 'wms', url, layers: 'a', timeoutSeconds },
      formats: ['image/png'],
      gridSets: ['EPSG:900913'],
      metatile: [1, 1],
      gutter: 0,
    })),
  };
}

async function readTile(url: string): Promise<TileResponse> {
  const begun = performance.now();
  const answer = await fetch(url);
  await answer.arrayBuffer();
  const retryAfter = answer.headers.get('retry-after');
  return {
    status: answer.status,
    cache: answer.headers.get('x-cache'),
    retryAfter: retryAfter === null ? null : Number(retryAfter),
    ms: performance.now() - begun,
  };
}
