import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { changesSql } from '../../src/changes/feeds/changes-sql.ts';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';
import { createPostgresDatabase } from '../fixtures/shared-services.ts';
import { whenOver } from '../fixtures/when-over.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { LAYER, type TaskCalls, type TileAt } from './task-server.ts';

const SECRET = 'for tests only';
const PLACES: readonly (TileAt & { readonly bounds: string })[] = [
  { z: 6, x: 33, y: 22, bounds: '8.5, 47.3, 8.6, 47.4' },
  { z: 6, x: 33, y: 20, bounds: '9.9, 53.5, 10, 53.6' },
];

/** A process, or a node in the process of the test. */
interface Node extends TaskCalls {
  stop(): Promise<unknown>;
  kill?(): Promise<unknown>;
}

describe('changes on several nodes', needs('s3'), () => {
  let cluster: Cluster;
  let gis: pg.Client;
  const purges: string[] = [];

  beforeAll(async () => {
    const address = await createPostgresDatabase();
    gis = new pg.Client({ connectionString: address });
    await gis.connect();
    await gis.query(changesSql({ source: null, table: 'public.tile_changes' }));
    const cdn = createServer((request, response) => {
      purges.push(String(request.headers['xkey-purge']));
      response.end();
    }).listen(0, '127.0.0.1');
    await once(cdn, 'listening');
    whenOver(async () => {
      cdn.close();
      await gis.end();
    });
    const settings = `server: { surrogateKeys: xkey }
purge: [{ name: cdn, url: 'http://127.0.0.1:${(cdn.address() as AddressInfo).port}/' }]
changes:
  - { name: edits, type: postgres, url: '${address}', table: public.tile_changes, layers: [${LAYER}] }
  - { name: hook, type: webhook, secret: '${SECRET}', layers: [${LAYER}] }`;
    cluster = await openCluster({ settings });
  });

  const read = async <Document>(node: TaskCalls, path: string) =>
    (await (await node.request('GET', path)).json()) as Document;

  async function leaderOf(nodes: ReadonlyMap<string, Node>, asked: Node): Promise<Node> {
    type Nodes = { nodes: { name: string; leader: boolean }[] };
    const { nodes: shown } = await eventually(
      'one of the living nodes leads',
      () => read<Nodes>(asked, '/api/v1/nodes'),
      ({ nodes: all }) => all.some(({ name, leader }) => leader && nodes.has(name)),
    );
    const found = nodes.get(shown.find(({ leader }) => leader)?.name ?? '');
    if (!found) throw new Error('no node leads');
    return found;
  }

  it('no change is lost or skipped when the leading node is killed between changes', async () => {
    const nodes = new Map<string, Node>();
    for (const name of ['a', 'b']) nodes.set(name, await cluster.serve({ name, expectedLog: /./ }));
    const change = ({ bounds }: (typeof PLACES)[number]) =>
      gis.query(`insert into tile_changes (minx, miny, maxx, maxy) values (${bounds})`);
    for (const [round, start] of [cluster.serve, cluster.open].entries()) {
      const [any] = nodes.values();
      if (!any) throw new Error('no node is left');
      for (const at of PLACES) await any.tile(at);
      const leader = await leaderOf(nodes, any);
      if (!leader.kill) throw new Error('the leading node is no process');
      cluster.wms.version = round + 2;
      const [first, second] = PLACES;
      if (first) await change(first);
      await gis.query('notify "public.tile_changes"');
      const killed = leader.kill();
      if (second) await change(second);
      await killed;
      const [name = ''] = [...nodes].find(([, node]) => node === leader) ?? [];
      nodes.delete(name);
      const fresh = `${name}${round}`;
      nodes.set(fresh, await start({ name: fresh, expectedLog: /./ }));
      const isEmpty = async () => (await gis.query('select from tile_changes')).rowCount === 0;
      await eventually('all changes are applied', isEmpty);
      for (const node of nodes.values()) await node.expectTiles(PLACES, { version: round + 2 });
    }
    type Feeds = { changes: { name: string; applied: number; pending: number; state: string }[] };
    for (const node of nodes.values()) {
      const { changes } = await read<Feeds>(node, '/api/v1/changes');
      const edits = changes.find(({ name }) => name === 'edits');
      expect(edits).toMatchObject({ state: 'ok', pending: 0 });
      expect(edits?.applied).toBeGreaterThanOrEqual(4);
    }
    for (const node of nodes.values()) await node.stop();
  });

  it('a webhook at one node applies to all nodes, and is one purge', async () => {
    const first = await cluster.open({ expectedLog: /./ });
    const second = await cluster.serve({ expectedLog: /./ });
    const nodes = [first, second];
    const [place] = PLACES;
    if (!place) throw new Error('there is no place');
    const isHit = async () => (await Promise.all(nodes.map((node) => node.tile(place)))).every(isCached);
    await eventually('both have the tile', isHit);
    type Deliveries = { deliveries: { state: string }[] };
    const delivered = async () => (await read<Deliveries>(first, '/api/v1/deliveries')).deliveries;
    const areOver = (all: Deliveries['deliveries']) => all.every(({ state }) => state === 'delivered');
    const { length } = await eventually('earlier purges are over', delivered, areOver);
    const before = purges.length;
    cluster.wms.version = 9;
    const body = `{ "bounds": [${place.bounds}] }`;
    const signature = createHmac('sha256', SECRET).update(body).digest('hex');
    const answer = await fetch(`${second.url}/api/v1/changes/hook`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
    });
    expect(answer.status).toBe(202);
    for (const node of nodes) await node.expectTiles([place], { version: 9 });
    const after = await eventually(
      'the purge is over',
      delivered,
      (all) => all.length > length && areOver(all),
    );
    expect([after.length, purges.length]).toEqual([length + 1, before + 1]);
    for (const node of nodes) await node.stop();
  });
});

function isCached({ cache }: { readonly cache: string | null }): boolean {
  return cache === 'HIT';
}
