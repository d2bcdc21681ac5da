import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { openS3Objects } from '../../src/storage/s3/s3-objects.ts';
import { s3StoreOptions } from '../../src/storage/s3/s3-store-options.ts';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { openDatabaseProxy, openTcpProxy, type TcpProxy } from '../fixtures/network.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { LAYER, type TaskCalls, type TaskServer } from './task-server.ts';

interface Export {
  readonly id: string;
  readonly state: string;
  readonly tiles: number;
  readonly bytes: number;
}

const TILES = 85;
const EXPORTS = '/api/v1/exports';
const ORDER = JSON.stringify({ layer: LAYER, type: 'mbtiles', zoomStop: 3 });

async function startExport(node: TaskCalls): Promise<string> {
  const answer = await node.request('POST', EXPORTS, ORDER, 'application/json');
  expect(answer.status).toBe(201);
  return ((await answer.json()) as Export).id;
}

async function seen(node: TaskCalls, id: string): Promise<Export> {
  return (await (await node.request('GET', `${EXPORTS}/${id}`)).json()) as Export;
}

function reached(node: TaskCalls, id: string, state: string): Promise<Export> {
  return eventually(
    `the export is ${state}`,
    () => seen(node, id),
    (one) => one.state === state,
  );
}

async function download(node: TaskCalls, id: string): Promise<Buffer> {
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
  const options = s3StoreOptions.parse(cluster.store);
  const tools = { clock: systemClock, random: systemRandom, log: silentLogger };
  const bucket = await openS3Objects(options, tools);
  const folder = `${options.prefix}exports/`;
  const { objects: found } = await bucket.list(folder, null);
  bucket.close();
  return found.map(({ key }) => key);
}

describe('exports of several nodes', needs('s3'), () => {
  let cluster: Cluster;
  /** Reaches both over proxies, and has exported nothing at the beginning of a test. */
  let first: TaskServer;
  let s3: TcpProxy;
  let database: Awaited<ReturnType<typeof openDatabaseProxy>>;

  beforeAll(async () => {
    cluster = await openCluster();
    const { hostname, port } = new URL((cluster.store as { endpoint: string }).endpoint);
    s3 = await openTcpProxy({ host: hostname, port: Number(port) });
    database = await openDatabaseProxy(cluster.database);
    first = await cluster.serve({
      name: 'first',
      workers: 1,
      store: { endpoint: `http://127.0.0.1:${s3.port}` },
      database: database.address,
      expectedLog: /./,
    });
    const id = await first.start({ zoomStop: 3, threadCount: 2 });
    expect(await first.over(id)).toMatchObject({ state: 'done', tilesProcessed: TILES });
  });

  afterAll(async () => {
    await s3?.close();
    await database?.close();
  });

  /** It cannot end before the S3 store responds. */
  async function startHeldExport(): Promise<string> {
    s3.block();
    const id = await startExport(first);
    await reached(first, id, 'running');
    return id;
  }

  async function deleteAt(node: TaskCalls, id: string): Promise<void> {
    expect((await node.request('DELETE', `${EXPORTS}/${id}`)).status).toBe(204);
    for (const what of ['', '/file']) {
      expect((await first.request('GET', `${EXPORTS}/${id}${what}`)).status).toBe(404);
    }
    expect(await kept(cluster)).toEqual([]);
  }

  it('an export that is requested at one node is listed, downloaded and deleted at another', async () => {
    const other = await cluster.open({ name: 'other' });
    const id = await startExport(first);
    const done = await reached(other, id, 'done');
    expect(done).toMatchObject({ tiles: TILES });
    for (const node of [first, other]) {
      expect(await (await node.request('GET', EXPORTS)).json()).toEqual({ exports: [done] });
    }
    const [here, there] = [await download(first, id), await download(other, id)];
    expect([here.length, tilesIn(here)]).toEqual([done.bytes, TILES]);
    expect(there.equals(here)).toBe(true);
    const etag = (await first.request('HEAD', `${EXPORTS}/${id}/file`)).headers.get('etag') ?? '';
    const rest = await fetch(`${other.url}${EXPORTS}/${id}/file`, {
      headers: { authorization: other.authorization, range: 'bytes=1000-', 'if-range': etag },
    });
    expect(rest.status).toBe(206);
    expect(Buffer.from(await rest.arrayBuffer()).equals(here.subarray(1000))).toBe(true);

    expect(await startExport(other)).toBe(id);
    await reached(first, id, 'done');
    expect(await kept(cluster)).toHaveLength(1);
    await deleteAt(other, id);
    await other.stop();
  });

  it('a running export waits while the database is unreachable, and finishes when it is back', async () => {
    const id = await startHeldExport();
    database.cut();
    s3.mend();
    const refused = await eventually(
      'the database is away',
      () => first.request('GET', EXPORTS),
      ({ status }) => status === 503,
    );
    expect(refused.headers.get('retry-after')).toBe('5');
    database.mend();
    await eventually(
      'the database is back',
      async () => (await first.request('GET', EXPORTS)).status === 200,
    );
    expect(await reached(first, id, 'done')).toMatchObject({ tiles: TILES, reason: null });
    expect(tilesIn(await download(first, id))).toBe(TILES);
    await deleteAt(first, id);
  });

  it('an export of a suspended node is finished by another, and stays the same when the first resumes', async () => {
    const id = await startHeldExport();
    const pids = [first.pid, ...first.workers()];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    const second = await cluster.open({
      name: 'second',
      workers: 1,
      expectedLog: /a worker stopped responding/,
    });
    expect(await reached(second, id, 'done')).toMatchObject({ tiles: TILES });
    const file = await download(second, id);
    expect(tilesIn(file)).toBe(TILES);
    s3.mend();
    for (const pid of pids) process.kill(pid, 'SIGCONT');
    await eventually('the first has woken', async () => (await seen(first, id)).state === 'done');
    expect((await download(first, id)).equals(file)).toBe(true);
    await first.stop();
    expect((await download(second, id)).equals(file)).toBe(true);
    await eventually('nothing else is kept', async () => (await kept(cluster)).length === 1);
    await second.stop();
  });
});
