// Draws every panel of the Grafana dashboard as one picture, from a real Prometheus and a server under load; needs Debian's prometheus.
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/lib/clock.ts';
import { openMockWms } from '../../test/fixtures/mock-wms.ts';
import { freePort } from '../../test/fixtures/varnish.ts';
import { say, temporaryFolder } from '../harness/report.ts';
import { FROM_BUILD, type ServerProcess, startServerProcess } from '../harness/server-process.ts';
import { programPath } from '../hits/measure-hits.ts';
import { type DrawnPanel, drawPanels, type Series } from './draw-panels.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    output: { type: 'string', default: '.build/dashboard.png' },
  },
});
const SECONDS = Number(values.seconds);
const [PASSWORD, SECRET] = ['a sentence for the dashboard', 'of the feed'];
const NO_LIMITS = { origins: null, ratePerSecond: null, requestsPerDay: null, expiresAt: null };
const DASHBOARD = new URL('../../deploy/grafana/tilewarden.json', import.meta.url);
/** As Grafana fills them in, with all layers and nodes chosen. */
const VARIABLES = { $job: 'tilewarden', $instance: '.*', $layer: '.*', $__rate_interval: '15s' };

const folder = temporaryFolder();
const stops: (() => unknown)[] = [];
const upstream = await openMockWms();
try {
  upstream.answer = (_, number) =>
    number % 50 === 0 ? 'xml' : number % 60 === 1 ? 'html' : { delayMs: 20 + (number % 7) * 10 };
  const server = await startServer();
  stops.push(server.stop);
  const ask = requester(server.url);
  const prometheus = await startPrometheus(new URL(server.url).host, await prepare(ask));
  await load(ask, Date.now() + SECONDS * 1000);
  const panels = await Promise.all(
    (JSON.parse(readFileSync(DASHBOARD, 'utf8')).panels as readonly DrawnPanel[]).map((panel) =>
      query(prometheus, panel),
    ),
  );
  writeFileSync(values.output, drawPanels(panels));
  const empty = panels.filter(({ type, series }) => type !== 'row' && series?.length === 0);
  say(
    `${values.output}: ${panels.length} panels; without data: ${empty.map(({ title }) => title).join(', ') || 'none'}`,
  );
} finally {
  for (const stop of stops) await stop();
  await upstream.close();
}

type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Response>;

function requester(server: string): Ask {
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`;
  return (method, path, body, headers = { authorization }) =>
    fetch(`${server}${path}`, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
}

function startServer(): Promise<ServerProcess> {
  const config = {
    upstreams: { [new URL(upstream.url).host]: { dailyBudget: 100_000, concurrency: 4 } },
    layers: [
      { name: 'world', source: { type: 'world' }, gridSets: ['EPSG:900913'] },
      { name: 'land', source: { type: 'wms', url: upstream.url, layers: 'land' }, gridSets: ['EPSG:900913'] },
      { name: 'closed', source: { type: 'world' }, access: 'authenticated' },
    ],
    changes: [{ name: 'parcels', type: 'webhook', secret: SECRET, layers: ['land'] }],
    purge: [{ name: 'cdn', url: 'http://127.0.0.1:1/' }],
    server: { surrogateKeys: 'xkey' },
  };
  process.env.TILEWARDEN_ADMIN_PASSWORD = PASSWORD;
  return startServerProcess(join(folder, 'data'), JSON.stringify(config), FROM_BUILD, []);
}

/** A token for Prometheus; a quota that is exceeded; tasks that end, and one that lasts. */
async function prepare(ask: Ask): Promise<string> {
  const made = await ask('POST', '/api/v1/tokens', {
    name: 'prometheus',
    role: 'viewer',
    layers: ['*'],
    expiresAt: null,
  });
  await ask('PUT', '/api/v1/quota', {
    enabled: true,
    cacheCleanUpFrequency: 5,
    globalQuota: { value: 1, units: 'MiB' },
  });
  const seed = { type: 'seed', gridSet: 'EPSG:900913', zoomStart: 0 };
  await ask('POST', '/api/v1/tasks', { ...seed, layer: 'world', zoomStop: 1 });
  await ask('POST', '/api/v1/tasks', { ...seed, layer: 'land', zoomStop: 3 });
  await ask('POST', '/api/v1/tasks', { ...seed, layer: 'world', zoomStop: 7 });
  return ((await made.json()) as { readonly token: string }).token;
}

async function startPrometheus(target: string, token: string): Promise<string> {
  const path = programPath('prometheus');
  if (path === null) throw new Error('Nothing is drawn: install prometheus.');
  const job = {
    job_name: 'tilewarden',
    authorization: { credentials: token },
    static_configs: [{ targets: [target] }],
  };
  writeFileSync(
    join(folder, 'prometheus.yml'),
    JSON.stringify({ global: { scrape_interval: '3s' }, scrape_configs: [job] }),
  );
  const address = `127.0.0.1:${await freePort()}`;
  const args = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'series')}`,
  ];
  const prometheus = spawn(path, [...args, `--web.listen-address=${address}`], { stdio: 'ignore' });
  stops.push(async () => {
    if (prometheus.kill('SIGTERM')) await once(prometheus, 'exit');
  });
  return `http://${address}`;
}

/** Misses and hits of strangers, readers with keys, changes of data; until then. */
async function load(ask: Ask, until: number): Promise<void> {
  const made = await ask('POST', '/api/v1/keys', {
    ...NO_LIMITS,
    name: 'portal',
    layers: ['closed'],
    ratePerSecond: 5,
  });
  const { key } = (await made.json()) as { readonly key: string };
  for (let turn = 0; Date.now() < until; turn++) {
    const [z, x, y] = [6, (turn * 7) % 64, (turn * 13) % 64];
    const paths = [`land/${z}/${x}/${y}`, `land/${z}/${x}/${y}`, 'land/3/4/2', 'world/2/1/1', 'none/0/0/0'];
    const tiles = paths.map((path) => ask('GET', `/tiles/${path}.png`, undefined, {}));
    const closed = Array.from({ length: 2 }, () =>
      ask('GET', `/tiles/closed/2/1/1.png?key=${key}`, undefined, {}),
    );
    for (const answer of await Promise.all([...tiles, ...closed])) await answer.arrayBuffer();
    if (turn % 20 === 0) await change(ask, turn);
    await systemClock.sleep(150);
  }
}

async function change(ask: Ask, turn: number): Promise<void> {
  const body = JSON.stringify({ bounds: [turn % 100, 10, (turn % 100) + 5, 20] });
  const signature = createHmac('sha256', SECRET).update(body).digest('hex');
  await ask('POST', '/api/v1/changes/parcels', body, { 'x-hub-signature-256': `sha256=${signature}` });
}

interface Answer {
  readonly data?: {
    readonly result: readonly {
      readonly metric: Record<string, string>;
      readonly values: Series['points'];
    }[];
  };
  readonly error?: string;
}

async function query(prometheus: string, panel: DrawnPanel): Promise<DrawnPanel> {
  const [end, start] = [Date.now() / 1000, Date.now() / 1000 - SECONDS];
  const all = (panel.targets ?? []).map(async ({ expr, legendFormat }) => {
    let text = expr;
    for (const [name, value] of Object.entries(VARIABLES)) text = text.replaceAll(name, value);
    const parameters = new URLSearchParams({
      query: text,
      start: String(start),
      end: String(end),
      step: '2',
    });
    const { data, error } = (await (
      await fetch(`${prometheus}/api/v1/query_range?${parameters}`)
    ).json()) as Answer;
    if (!data) throw new Error(`${panel.title}: ${error}`);
    const legend = (metric: Record<string, string>) =>
      legendFormat.replace(/\{\{(\w+)\}\}/g, (_, name) => metric[name] ?? '');
    return data.result.map(({ metric, values: points }) => ({ legend: legend(metric), points }));
  });
  return { ...panel, series: (await Promise.all(all)).flat() };
}
