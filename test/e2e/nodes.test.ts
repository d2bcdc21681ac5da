import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { type Cluster, type OpenNode, openCluster } from './cluster.ts';
import { type RunningNode, runTilewarden } from './server.ts';
import { LAYER, tilesOf } from './task-server.ts';

const TRUNCATE = `<truncateLayer><layerName>${LAYER}</layerName></truncateLayer>`;
const AT = { z: 3, x: 2, y: 5 };
const ROUNDS = 2;
const quiet = { clock: systemClock, log: silentLogger };

describe('nodes on one PostgreSQL and S3', needs('s3'), () => {
  let cluster: Cluster;
  let a: OpenNode;
  let b: OpenNode;
  let hand: RunningNode;

  beforeAll(async () => {
    cluster = await openCluster({ upstream: 'concurrency: 3' });
    [a, b, hand] = await Promise.all([
      cluster.open({ name: 'a' }),
      cluster.open({ name: 'b' }),
      cluster.work({ name: 'hand', expectedLog: /there are too many requests/ }),
    ]);
    whenOver(async () => {
      for (const node of [a, b, hand]) await node.stop();
    });
  });
  beforeEach(() => cluster.wms.reset());

  it('nodes that start together create the tables of a database once', () => {
    const logs = [a.log(), b.log(), hand.stderr()].join('\n');
    expect(logs.match(/database migrated/g)).toHaveLength(1);
  });

  it('a node whose port is taken does not start and is not listed by the others', async () => {
    const data = temporaryFolder();
    writeFileSync(join(data, 'tilewarden.yaml'), JSON.stringify({ stores: { default: cluster.store } }));
    const at = ['--port', new URL(a.url).port, '--data', data, '--config', join(data, 'tilewarden.yaml')];
    const late = await runTilewarden(['serve', '--node', 'late', ...at, '--database', cluster.database]);
    expect(late.code).toBe(1);
    expect(late.stderr).toContain('is taken by another program');
    const list = await (await b.request('GET', '/api/v1/nodes')).json();
    expect(JSON.stringify(list)).not.toContain('late');
  });

  it('each process of a server is a node: all obey a truncation at another one', async () => {
    const store = { cache: { size: '10MB' } };
    const pair = await cluster.serve({ name: 'pair', args: ['--processes', '2'], store });
    const names = async () => {
      const { nodes } = (await (await a.request('GET', '/api/v1/nodes')).json()) as {
        nodes: { name: string }[];
      };
      return nodes.map(({ name }) => name);
    };
    const ours = (await names()).filter((name) => /^pair \(\d+\)$/.test(name));
    expect(ours).toHaveLength(2);
    const at = { z: 5, x: 9, y: 9 };
    // By connections of their own: the processes take turns.
    const asked = () => Promise.all(Array.from({ length: 12 }, () => pair.tile(at)));
    await asked();
    await eventually('it is stored', async () => (await asked()).every(({ cache }) => cache === 'HIT'));
    cluster.wms.version = 2;
    expect((await a.request('POST', '/masstruncate', TRUNCATE, 'text/xml')).status).toBe(200);
    await Promise.all(Array.from({ length: 12 }, () => pair.expectTiles([at], { version: 2 })));
    await pair.stop();
    expect(await names()).toEqual(['a', 'b', 'hand']);
  });

  it('nodes keep running when a later version has migrated the database, but no node starts', async () => {
    const database = await openDatabase({ location: cluster.database, ...quiet });
    await sql`alter table tasks add column of_tomorrow text`.execute(database.change);
    await sql`insert into kysely_migration (name, timestamp) values ('9999-of-tomorrow', '')`.execute(
      database.change,
    );
    await database.close();
    // Its process is started now.
    const id = await a.start({ zoomStop: 2 });
    expect(await b.over(id)).toMatchObject({ state: 'done', tilesProcessed: 21 });
    expect(await b.expectTiles(tilesOf(0, 2), { cache: 'HIT' })).toBe(21);
    const args = ['--data', temporaryFolder(), '--database', cluster.database];
    const late = await runTilewarden(['serve', '--port', '0', ...args]);
    expect(late.code).toBe(1);
    expect(late.stderr).toContain('The database has been changed by a later version.');
  });

  it('nodes share tiles, and no node shows a tile after its truncation is acknowledged', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [maker, other] = round % 2 === 0 ? [a, b] : [b, a];
      expect((await maker.tile(AT)).cache).toBe('MISS');
      await eventually('the tile is stored', async () => (await other.tile(AT)).cache === 'HIT');
      // The second hit comes from memory.
      expect((await other.tile(AT)).cache).toBe('HIT');
      expect((await maker.tile(AT)).cache).toBe('HIT');
      expect((await maker.request('POST', '/masstruncate', TRUNCATE, 'text/xml')).status).toBe(200);
      expect((await other.tile({ ...AT, x: 3 })).cache).toBe('MISS');
      await eventually('it is stored again', async () => (await other.tile(AT)).cache === 'HIT');
      expect((await other.request('POST', '/masstruncate', TRUNCATE, 'text/xml')).status).toBe(200);
    }
  });

  it('nodes list each other, and a layer declared at one is at the other with the response', async () => {
    const list = async () => (await (await b.request('GET', '/api/v1/nodes')).json()) as { nodes: object[] };
    await eventually('one leads', async () => JSON.stringify(await list()).includes('"leader":true'));
    expect((await list()).nodes).toMatchObject([
      { name: 'a', roles: ['serve'], address: `${a.url}/` },
      { name: 'b', roles: ['serve'], address: `${b.url}/` },
      { name: 'hand', roles: ['worker'], address: null },
    ]);
    const layer = { name: 'rivers', source: { type: 'wms', url: cluster.wms.url, layers: 'rivers' } };
    for (let round = 0; round < ROUNDS; round++) {
      const [here, there] = round % 2 === 0 ? [a, b] : [b, a];
      const name = `rivers-${round}`;
      const body = JSON.stringify({ ...layer, name });
      expect((await here.request('POST', '/api/v1/layers', body, 'application/json')).status).toBe(201);
      expect((await fetch(`${there.url}/tiles/${name}/0/0/0.png`)).status).toBe(200);
      expect((await here.request('DELETE', `/api/v1/layers/${name}`)).status).toBe(204);
      expect((await fetch(`${there.url}/tiles/${name}/0/0/0.png`)).status).toBe(404);
    }
  });

  it('a tile requested from several nodes is fetched once', async () => {
    // Longer than a request takes to reach the second node, also on a busy machine.
    cluster.wms.answer = { delayMs: 3000 };
    await Promise.all([a, b].flatMap((node) => [0, 1, 2].map((x) => node.tile({ z: 4, x, y: 1 }))));
    expect(cluster.wms.requests).toHaveLength(1);
  });

  it('nodes together stay within the concurrency of a host', async () => {
    cluster.wms.answer = { delayMs: 40 };
    const places = Array.from({ length: 16 }, (_, i) => ({ z: 6, x: (i % 4) * 4, y: Math.floor(i / 4) * 4 }));
    const shifted = (n: number) => places.map(({ z, x, y }) => ({ z, x: x + 16 * n, y }));
    await Promise.all([a, b].flatMap((node, n) => shifted(n).map((at) => node.tile(at))));
    expect(cluster.wms.requests).toHaveLength(32);
    expect(cluster.wms.peak).toBeGreaterThan(1);
    expect(cluster.wms.peak).toBeLessThanOrEqual(3);
  });

  it('tasks are shared by nodes: any node shows, performs and stops them', async () => {
    expect((await a.request('POST', '/masstruncate', TRUNCATE, 'text/xml')).status).toBe(200);
    cluster.wms.answer = 'hang';
    const id = await a.start({ zoomStop: 3, threadCount: 4 });
    await eventually('b shows that it runs', async () => (await b.task(id)).state === 'running');
    cluster.wms.answer = 'good';
    cluster.wms.release();
    expect(await b.over(id)).toMatchObject({ state: 'done', tilesProcessed: 85 });
    expect(await a.expectTiles(tilesOf(0, 3), { cache: 'HIT' })).toBe(85);

    cluster.wms.version = 2;
    await a.over(await b.start({ type: 'reseed', zoomStop: 3, threadCount: 4 }));
    expect(await a.expectTiles(tilesOf(0, 3), { cache: 'HIT', version: 2 })).toBe(85);
    expect(await b.expectTiles(tilesOf(0, 2), { cache: 'HIT', version: 2 })).toBe(21);

    cluster.wms.answer = 'hang';
    const hanging = await a.start({ zoomStart: 5, zoomStop: 6 });
    await eventually('the upstream hangs', () => cluster.wms.active);
    await b.request('POST', '/rest/seed', 'kill_all=all', 'application/x-www-form-urlencoded');
    expect((await a.task(hanging)).state).toBe('aborted');
    await eventually(
      'the upstream is left alone',
      () => cluster.wms.active,
      (active) => active === 0,
    );
  });

  it('every node shows the reason why a task waits, and the pause of its host', async () => {
    cluster.wms.answer = { status: 429, headers: { 'retry-after': '900' } };
    const id = await a.start({ zoomStart: 6, zoomStop: 6 });
    for (const node of [a, b]) {
      const { waitingFor } = await eventually(
        'it says what the task waits for',
        () => node.task(id),
        (task) => task.waitingFor !== null,
      );
      expect(waitingFor).toMatchObject({ reason: 'retry-after', until: expect.any(String) });
      await eventually('it knows of the host', async () => {
        const answer = await node.request('GET', '/api/v1/upstreams');
        const { upstreams } = (await answer.json()) as { upstreams: { state: string; closed: object }[] };
        return upstreams.some(({ state, closed }) => state === 'paused' && closed !== null);
      });
    }
  });
});
