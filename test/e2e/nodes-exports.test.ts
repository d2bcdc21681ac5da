import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { schemaKit } from '../../src/lib/schemas.ts';
import { openS3Objects } from '../../src/storage/s3/s3-objects.ts';
import { s3StoreOptions } from '../../src/storage/s3/s3-store-options.ts';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { openDatabaseProxy, openTcpProxy } from '../fixtures/tcp-proxy.ts';
import { whenOver } from '../fixtures/when-over.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { temporaryFolder } from './server.ts';
import { LAYER, type TaskServer } from './task-server.ts';

interface Export {
  readonly id: string;
  readonly state: string;
  readonly tiles: number;
  readonly bytes: number;
}

const TILES = 85;
const EXPORTS = '/api/v1/exports';
const ORDER = JSON.stringify({ layer: LAYER, type: 'mbtiles', zoomStop: 3 });

async function seed(node: TaskServer): Promise<void> {
  const id = await node.start({ zoomStop: 3, threadCount: 2 });
  expect(await node.over(id)).toMatchObject({ state: 'done', tilesProcessed: TILES });
}

async function startExport(node: TaskServer): Promise<string> {
  const answer = await node.request('POST', EXPORTS, ORDER, 'application/json');
  expect(answer.status).toBe(201);
  return ((await answer.json()) as Export).id;
}

async function seen(node: TaskServer, id: string): Promise<Export> {
  return (await (await node.request('GET', `${EXPORTS}/${id}`)).json()) as Export;
}

function reached(node: TaskServer, id: string, state: string): Promise<Export> {
  return eventually(
    `the export is ${state}`,
    () => seen(node, id),
    (one) => one.state === state,
  );
}

async function download(node: TaskServer, id: string): Promise<Buffer> {
  const answer = await node.request('GET', `${EXPORTS}/${id}/file`);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

function tilesIn(bytes: Buffer): number {
  const file = join(temporaryFolder(), 'export.mbtiles');
  writeFileSync(file, bytes);
  const db = new Database(file, { readonly: true });
  const { count } = db.prepare('SELECT count(*) AS count FROM tiles').get() as { count: number };
  db.close();
  return count;
}

/** Names of what is kept of exports in the bucket, whole or not. */
async function kept(cluster: Cluster): Promise<readonly string[]> {
  const options = s3StoreOptions(schemaKit).parse(cluster.store);
  const tools = { clock: systemClock, random: systemRandom, log: silentLogger };
  const bucket = await openS3Objects(options, tools);
  const folder = `${options.prefix}exports/`;
  const found = [...(await bucket.list(folder, null)).objects, ...(await bucket.unfinished(folder))];
  bucket.close();
  return found.map(({ key }) => key);
}

it(
  'an export that is requested at one node is listed, downloaded and deleted at another',
  needs('s3'),
  async () => {
    const cluster = await openCluster();
    const a = await cluster.serve({ name: 'a', workers: 1 });
    const b = await cluster.serve({ name: 'b' });
    await seed(a);
    const id = await startExport(a);
    const done = await reached(b, id, 'done');
    expect(done).toMatchObject({ tiles: TILES });
    for (const node of [a, b]) {
      expect(await (await node.request('GET', EXPORTS)).json()).toEqual({ exports: [done] });
    }
    const [atA, atB] = [await download(a, id), await download(b, id)];
    expect([atA.length, tilesIn(atA)]).toEqual([done.bytes, TILES]);
    expect(atB.equals(atA)).toBe(true);
    const etag = (await a.request('HEAD', `${EXPORTS}/${id}/file`)).headers.get('etag') ?? '';
    const rest = await fetch(`${b.url}${EXPORTS}/${id}/file`, {
      headers: { authorization: b.authorization, range: 'bytes=1000-', 'if-range': etag },
    });
    expect(rest.status).toBe(206);
    expect(Buffer.from(await rest.arrayBuffer()).equals(atA.subarray(1000))).toBe(true);

    expect(await startExport(b)).toBe(id);
    await reached(a, id, 'done');
    expect(await kept(cluster)).toHaveLength(1);
    expect((await b.request('DELETE', `${EXPORTS}/${id}`)).status).toBe(204);
    for (const what of ['', '/file']) {
      expect((await a.request('GET', `${EXPORTS}/${id}${what}`)).status).toBe(404);
    }
    expect(await kept(cluster)).toEqual([]);
    await a.stop();
    await b.stop();
  },
);

it(
  'an export of a suspended node is finished by another, and stays the same when the first resumes',
  needs('s3'),
  async () => {
    const cluster = await openCluster();
    const { hostname, port } = new URL((cluster.store as { endpoint: string }).endpoint);
    const proxy = await openTcpProxy({ host: hostname, port: Number(port) });
    whenOver(() => proxy.close());
    const store = { endpoint: `http://127.0.0.1:${proxy.port}` };
    const first = await cluster.serve({ name: 'first', workers: 1, store, expectedLog: /./ });
    await seed(first);
    proxy.block();
    const id = await startExport(first);
    await reached(first, id, 'running');
    const pids = [first.pid, ...first.workers()];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');

    const second = await cluster.serve({
      name: 'second',
      workers: 1,
      expectedLog: /a worker stopped responding/,
    });
    expect(await reached(second, id, 'done')).toMatchObject({ tiles: TILES });
    const file = await download(second, id);
    expect(tilesIn(file)).toBe(TILES);
    proxy.mend();
    for (const pid of pids) process.kill(pid, 'SIGCONT');
    await eventually('the first has woken', async () => (await seen(first, id)).state === 'done');
    expect((await download(first, id)).equals(file)).toBe(true);
    await first.stop();
    expect((await download(second, id)).equals(file)).toBe(true);
    await eventually('nothing else is kept', async () => (await kept(cluster)).length === 1);
    await second.stop();
  },
);

it(
  'a running export waits while the database is unreachable, and finishes when it is back',
  needs('s3'),
  async () => {
    const cluster = await openCluster();
    const proxy = await openDatabaseProxy(cluster.database);
    whenOver(() => proxy.close());
    const node = await cluster.serve({ workers: 1, database: proxy.address, expectedLog: /./ });
    await seed(node);
    const id = await startExport(node);
    await reached(node, id, 'running');
    proxy.cut();
    const refused = await eventually(
      'the database is away',
      () => node.request('GET', EXPORTS),
      ({ status }) => status === 503,
    );
    expect(refused.headers.get('retry-after')).toBe('5');
    proxy.mend();
    await eventually('the database is back', async () => (await node.request('GET', EXPORTS)).status === 200);
    expect(await reached(node, id, 'done')).toMatchObject({ tiles: TILES, reason: null });
    expect(tilesIn(await download(node, id))).toBe(TILES);
    await node.stop();
  },
);
