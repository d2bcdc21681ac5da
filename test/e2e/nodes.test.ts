import { describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { openCluster } from './cluster.ts';
import { LAYER, tilesOf } from './task-server.ts';

const TRUNCATE = `<truncateLayer><layerName>${LAYER}</layerName></truncateLayer>`;
const AT = { z: 3, x: 2, y: 5 };

describe('nodes on one PostgreSQL and S3', () => {
  it('share tiles, and what one truncates no other shows once it is acknowledged', async () => {
    const cluster = await openCluster();
    const [a, b] = [await cluster.serve(), await cluster.serve()];
    for (let round = 0; round < 5; round++) {
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
    await a.stop();
    await b.stop();
  });

  it('know each other, and a layer that is declared at one is there at the other with the answer', async () => {
    const cluster = await openCluster();
    const [a, b] = [await cluster.serve(), await cluster.serve()];
    const worker = await cluster.work({ name: 'hand' });
    const list = async () => (await (await b.request('GET', '/api/v1/nodes')).json()) as { nodes: object[] };
    await eventually('one leads', async () => JSON.stringify(await list()).includes('"leader":true'));
    expect((await list()).nodes).toMatchObject([
      { name: 'hand', roles: ['worker'], address: null },
      { name: 'node-1', roles: ['serve', 'worker'], address: `${a.url}/` },
      { name: 'node-2', roles: ['serve', 'worker'], address: `${b.url}/` },
    ]);
    const layer = { name: 'rivers', source: { type: 'world' } };
    for (let round = 0; round < 5; round++) {
      const [here, there] = round % 2 === 0 ? [a, b] : [b, a];
      const name = `rivers-${round}`;
      const body = JSON.stringify({ ...layer, name });
      expect((await here.request('POST', '/api/v1/layers', body, 'application/json')).status).toBe(201);
      expect((await fetch(`${there.url}/tiles/${name}/0/0/0.png`)).status).toBe(200);
      expect((await here.request('DELETE', `/api/v1/layers/${name}`)).status).toBe(204);
      expect((await fetch(`${there.url}/tiles/${name}/0/0/0.png`)).status).toBe(404);
    }
    await worker.stop();
    await a.stop();
    await b.stop();
  });

  it('make a tile once, however many nodes are asked for it', async () => {
    const cluster = await openCluster();
    const nodes = [await cluster.serve(), await cluster.serve(), await cluster.serve()];
    cluster.wms.answer = { delayMs: 500 };
    const asked = nodes.flatMap((node) => [0, 1, 2].map((x) => node.tile({ z: 4, x, y: 1 })));
    await Promise.all(asked);
    expect(cluster.wms.requests).toHaveLength(1);
    for (const node of nodes) await node.stop();
  });

  it('together keep to what a host allows, while all of them ask it', async () => {
    const cluster = await openCluster({ upstream: 'concurrency: 3' });
    const nodes = [await cluster.serve(), await cluster.serve(), await cluster.serve()];
    cluster.wms.answer = { delayMs: 40 };
    let most = 0;
    const watching = setInterval(() => {
      most = Math.max(most, cluster.wms.active);
    }, 5);
    const places = Array.from({ length: 16 }, (_, i) => ({ z: 6, x: (i % 4) * 4, y: Math.floor(i / 4) * 4 }));
    const shifted = (n: number) => places.map(({ z, x, y }) => ({ z, x: x + 16 * n, y }));
    await Promise.all(nodes.flatMap((node, n) => shifted(n).map((at) => node.tile(at))));
    clearInterval(watching);
    expect(cluster.wms.requests).toHaveLength(48);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(3);
    for (const node of nodes) await node.stop();
  });

  it('share tasks: any node shows, performs and stops them', async () => {
    const cluster = await openCluster();
    const a = await cluster.serve({ config: 'tasks: { workers: 0 }' });
    const b = await cluster.serve({ config: 'tasks: { workers: 0 }' });
    const id = await a.start({ zoomStop: 4, threadCount: 4 });
    expect((await b.task(id)).state).toBe('pending');
    const worker = await cluster.work({ config: 'tasks: { workers: 2 }' });
    expect(await b.over(id)).toMatchObject({ state: 'done', tilesProcessed: 341 });
    expect(await a.expectTiles(tilesOf(0, 4), { cache: 'HIT' })).toBe(341);

    cluster.wms.version = 2;
    const again = await b.start({ type: 'reseed', zoomStop: 4, threadCount: 4 });
    await a.over(again);
    expect(await a.expectTiles(tilesOf(0, 4), { cache: 'HIT', version: 2 })).toBe(341);
    expect(await b.expectTiles(tilesOf(0, 4), { cache: 'HIT', version: 2 })).toBe(341);

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
    await worker.stop();
    await a.stop();
    await b.stop();
  });
});
