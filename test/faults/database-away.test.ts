import { beforeAll, expect, it } from 'vitest';
import { openCluster } from '../e2e/cluster.ts';
import { type TaskServer, tilesOf } from '../e2e/task-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { openDatabaseProxy, type TcpProxy } from '../fixtures/network.ts';
import { whenOver } from '../fixtures/when-over.ts';

/** In the log. Without its database a node that was suspended for seconds, by a busy machine as well, shows no copies. */
const SUSPENDED = 'this process was suspended';

let proxy: TcpProxy;
let node: TaskServer;
const suspensions = () => node.stderr().split(SUSPENDED).length;

beforeAll(async () => {
  const cluster = await openCluster();
  const opened = await openDatabaseProxy(cluster.database);
  proxy = opened;
  whenOver(() => proxy.close());
  node = await cluster.serve({ database: opened.address, expectedLog: /./ });
  whenOver(() => node.stop());
});

it.each([
  ['cut', 9],
  ['block', 13],
] as const)(
  'a node without its database (%s) serves cached tiles, answers 503 to administration, and recovers',
  needs('s3'),
  async (how, row) => {
    let explained = suspensions();
    const cached = [...tilesOf(0, 2)];
    for (const at of cached) await node.tile(at);
    await node.untilStored();
    // From now on they are in memory as well.
    for (const at of cached) expect((await node.tile(at)).cache).toBe('HIT');
    const readiness = async () => (await fetch(`${node.url}/readyz`)).text();

    whenOver(() => proxy.mend());
    const showsAll = async () => {
      proxy[how]();
      await eventually('the node says so', readiness, (text) => text.startsWith('ready: the database'));
      const shown = new Set<string | null>();
      for (const at of cached) shown.add((await node.tile(at)).cache);
      if (shown.size === 1 && shown.has('HIT')) return true;
      await eventually(
        `a suspension of the node explains ${[...shown]}`,
        suspensions,
        (now) => now > explained,
      );
      explained = suspensions();
      proxy.mend();
      await eventually(
        'tiles are shown again',
        async () => (await node.tile({ z: 0, x: 0, y: 0 })).cache === 'HIT',
      );
      return false;
    };
    await eventually('cached tiles are shown by a node that was not suspended', showsAll);
    expect((await node.tile({ z: 5, x: 9, y: row })).cache).toBe('BYPASS');
    const refused = await node.request('GET', '/api/v1/tasks');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await (await fetch(`${node.url}/metrics`)).text()).toMatch(/^tilewarden_node_database_up 0$/m);

    proxy.mend();
    await eventually('the node is as before', readiness, (text) => text === 'ready\n');
    expect((await node.request('GET', '/api/v1/tasks')).status).toBe(200);
    await eventually(
      'tiles are stored again',
      async () => (await node.tile({ z: 5, x: 20, y: row })).cache === 'HIT',
    );
  },
);
