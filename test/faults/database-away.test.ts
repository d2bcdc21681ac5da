import { expect, it } from 'vitest';
import { openCluster } from '../e2e/cluster.ts';
import { tilesOf } from '../e2e/task-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { openDatabaseProxy } from '../fixtures/tcp-proxy.ts';
import { whenOver } from '../fixtures/when-over.ts';

it.each(['cut', 'block'] as const)(
  'a node whose way to the database is %s serves what it has, refuses administration with 503, and recovers by itself',
  async (how) => {
    const cluster = await openCluster();
    const proxy = await openDatabaseProxy(cluster.database);
    whenOver(() => proxy.close());
    const node = await cluster.serve({ database: proxy.address, expectedLog: /./ });
    const cached = [...tilesOf(0, 2)];
    for (const at of cached) await node.tile(at);
    const readiness = async () => (await fetch(`${node.url}/readyz`)).text();

    proxy[how]();
    await eventually('the node says so', readiness, (text) => text.startsWith('ready: the database'));
    for (const at of cached) expect((await node.tile(at)).cache).toBe('HIT');
    expect((await node.tile({ z: 5, x: 9, y: 9 })).cache).toBe('BYPASS');
    const refused = await node.request('GET', '/api/v1/tasks');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);

    proxy.mend();
    await eventually('the node is as before', readiness, (text) => text === 'ready\n');
    expect((await node.request('GET', '/api/v1/tasks')).status).toBe(200);
    await eventually(
      'tiles are stored again',
      async () => (await node.tile({ z: 5, x: 20, y: 9 })).cache === 'HIT',
    );
    await node.stop();
  },
);
