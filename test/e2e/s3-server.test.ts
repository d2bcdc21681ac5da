import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { type FaultProxy, openFaultProxy } from '../fixtures/network.ts';
import { createPostgresDatabase, sharedS3 } from '../fixtures/shared-services.ts';
import { temporaryFolder, whenOver } from '../fixtures/when-over.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { runCommand, runTilewarden, writeConfig } from './server.ts';
import { openServer } from './server-in-process.ts';
import { LAYER, type OpenTaskServer, roadsConfig, speakTo, type TileAt } from './task-server.ts';

const TRUNCATE = `<truncateLayer><layerName>${LAYER}</layerName></truncateLayer>`;
/** Two tiles of one metatile. */
const [HERE, BESIDE] = [
  { z: 6, x: 20, y: 20 },
  { z: 6, x: 21, y: 21 },
];

describe('a server with a store in S3', needs('s3'), () => {
  const expectedLog = /could not be (stored|read|removed)|the object store (fails|cannot be reached)/;
  let proxy: FaultProxy;
  let cluster: Cluster;
  let server: OpenTaskServer;
  let nodes = 0;

  const openNode = async (data = temporaryFolder(), options = {}) => {
    const config = `stores: ${JSON.stringify({ default: { ...cluster.store, ...options } })}\ntasks: { workers: 0 }\n${roadsConfig(cluster.wms)}`;
    const flags = { node: `node-${++nodes}`, database: cluster.database };
    return speakTo(await openServer({ config, flags, expectedLog, data }));
  };

  beforeAll(async () => {
    proxy = await openFaultProxy((await sharedS3()).endpoint);
    whenOver(() => proxy.close());
    const store = { endpoint: proxy.url, cache: { size: '50 MiB' }, timeoutSeconds: 3 };
    cluster = await openCluster({ store });
    server = await openNode();
    whenOver(() => server.stop());
  });

  it.each(['fail', 'refuse', 'hang'] as const)(
    'tiles are served from memory and source while S3 is unreachable (%s), and stored afterwards',
    async (mode) => {
      await storeOneMetatile(server);
      proxy.mode = mode;
      whenOver(() => {
        proxy.mode = 'pass';
      });
      // A node that could not ask the database for changes for seconds serves no copies until it has.
      await eventually(
        'the tile is served from memory',
        () => outcomeAt(server, HERE),
        (outcome) => outcome === 'HIT',
      );
      for (let x = 0; x < 6; x++)
        expect(await outcomeAt(server, { z: 6, x: x * 4, y: 40 })).toMatch(/MISS|BYPASS/);
      await eventually(
        'tiles are answered past the store',
        () => outcomeAt(server, { z: 6, x: 40, y: 44 }),
        (outcome) => outcome !== 'MISS',
      );
      expect(await usage(server)).toBe(16);
      proxy.mode = 'pass';
      let next = 0;
      await eventually(
        'tiles are stored again',
        async () => {
          await outcomeAt(server, { z: 7, x: 4 * next++, y: 8 });
          return usage(server);
        },
        (tiles) => tiles > 16,
      );
    },
  );

  it('every miss is answered from the source while S3 is silent, before a write has given up', async () => {
    const waiting = await openNode(undefined, { timeoutSeconds: 60 });
    whenOver(() => waiting.stop());
    proxy.mode = 'hang';
    whenOver(() => {
      proxy.mode = 'pass';
      proxy.cut();
    });
    for (let i = 0; i < 20; i++)
      expect(await outcomeAt(waiting, { z: 7, x: 4 * i, y: 100 })).toMatch(/MISS|BYPASS/);
    const metrics = await (await waiting.request('GET', '/metrics')).text();
    expect(metrics).not.toMatch(/store_request_failures_total\{store="default",operation="put"\} [1-9]/);
  });

  it('no stored tile is replaced or removed because its bucket was absent for a moment', async () => {
    await storeOneMetatile(server);
    const { wms } = cluster;
    const node = await openNode();
    whenOver(() => {
      proxy.mode = 'pass';
      wms.reset();
    });
    wms.version = 2;
    wms.answer = 'hang';
    proxy.mode = 'no-bucket';
    const asked = wms.requests.length;
    const outcome = outcomeAt(node, HERE);
    await eventually('its source is asked', () => wms.requests.length > asked);
    proxy.mode = 'pass';
    wms.release();
    expect(await outcome).toBe('BYPASS');
    await node.untilStored();
    await node.stop();
    const later = await openNode();
    expect(await later.expectTiles([HERE, BESIDE], { cache: 'HIT', version: 1 })).toBe(2);
    await later.stop();
  });

  it('the disk cache of S3 serves tiles after a restart without S3, but no truncated ones', async () => {
    await storeOneMetatile(server);
    const second = await openNode();
    expect([await outcomeAt(second, HERE), await outcomeAt(second, BESIDE)]).toEqual(['HIT', 'HIT']);
    const metrics = await (await second.request('GET', '/metrics')).text();
    // The sentinel, which is read at the start, and the pack.
    expect(metrics).toContain('tilewarden_store_requests_total{store="default",operation="get"} 2');
    await second.stop();
    const again = () => openNode(second.data);
    const third = await again();
    proxy.mode = 'fail';
    whenOver(() => {
      proxy.mode = 'pass';
    });
    expect([await outcomeAt(third, HERE), await outcomeAt(third, BESIDE)]).toEqual(['HIT', 'HIT']);
    await third.stop();
    proxy.mode = 'pass';
    await truncate(server);
    const fourth = await again();
    expect(await outcomeAt(fourth, HERE)).toBe('MISS');
    await fourth.stop();
  });

  it('migrate-store copies tiles from bundles to S3 and back while the server runs', async () => {
    const stores = JSON.stringify({ local: { type: 'bundle' }, default: cluster.store });
    const roads = roadsConfig(cluster.wms);
    const config = (store: string) =>
      `stores: ${stores}\ntasks: { workers: 0 }\n${roads.replace('gutter: 0', `gutter: 0\n    store: ${store}`)}`;
    const flags = { database: await createPostgresDatabase() };
    const data = temporaryFolder();
    const before = speakTo(await openServer({ config: config('local'), data, flags }));
    expect(await outcomeAt(before, HERE)).toBe('MISS');
    await untilMetatileStored(before);
    const migration = (from: string, to: string) => [
      ...['migrate-store', from, to, '--data', data, '--config', writeConfig(config('default'))],
      ...['--database', flags.database],
    ];
    expect((await runTilewarden(migration('local', 'default'))).stdout).toMatch(
      /^Copied 16 tiles from local to default \(.*\)\.\n$/,
    );
    await before.stop();
    const after = speakTo(await openServer({ config: config('default'), data, flags }));
    expect([await outcomeAt(after, HERE), await outcomeAt(after, BESIDE)]).toEqual(['HIT', 'HIT']);
    await after.stop();
    expect((await runCommand(migration('default', 'local'))).stdout).toContain(
      '16 of them were there already',
    );
    const unknown = await runCommand(migration('default', 'nowhere'));
    expect(unknown.stderr).toContain('There is no store nowhere; there are local, default.');
    expect(unknown.code).not.toBe(0);
  });

  it('a server does not start without its S3 bucket, and names it', async () => {
    const store = { ...cluster.store, bucket: 'no-such-bucket' };
    const config = `stores: ${JSON.stringify({ default: store })}`;
    const flags = { database: cluster.database };
    await expect(openServer({ config, flags, data: temporaryFolder() })).rejects.toThrow(
      'The bucket no-such-bucket of a tile store does not exist',
    );
  });
});

async function outcomeAt(server: OpenTaskServer, at: TileAt): Promise<string | null> {
  return (await server.tile(at)).cache;
}

async function usage(server: OpenTaskServer): Promise<number> {
  const answer = await server.request('GET', '/api/v1/usage');
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { readonly tiles: number }).tiles;
}

async function truncate(server: OpenTaskServer): Promise<void> {
  expect((await server.request('POST', '/masstruncate', TRUNCATE, 'text/xml')).status).toBe(200);
}

/** One metatile is stored, and nothing else. */
async function storeOneMetatile(server: OpenTaskServer): Promise<void> {
  await server.untilStored();
  // After failures in the test before, the server leaves S3 alone for a moment: it keeps the tile in memory only.
  await eventually(
    'a tile is stored, not passed on',
    async () => {
      await truncate(server);
      expect(await usage(server)).toBe(0);
      return outcomeAt(server, HERE);
    },
    (outcome) => outcome === 'MISS',
  );
  await untilMetatileStored(server);
  // A request during its storing shares its flight, and that is a MISS too.
  await server.untilStored();
}

async function untilMetatileStored(server: OpenTaskServer): Promise<void> {
  await eventually(
    'the metatile is stored',
    () => usage(server),
    (tiles) => tiles === 16,
  );
}
