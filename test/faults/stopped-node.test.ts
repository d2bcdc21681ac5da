import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openCluster } from '../e2e/cluster.ts';
import { type TaskServer, tilesOf } from '../e2e/task-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { inLength, isLong } from '../fixtures/length.ts';
import { needs } from '../fixtures/needs.ts';
import { openDatabaseProxy } from '../fixtures/network.ts';
import { whenOver } from '../fixtures/when-over.ts';

async function leaderOf(server: TaskServer): Promise<string | undefined | null> {
  const answer = await server.request('GET', '/api/v1/nodes');
  // A node that was just continued may find its connections to the database gone.
  if (!answer.ok) return null;
  const { nodes } = (await answer.json()) as { nodes: { name: string; leader: boolean }[] };
  return nodes.find(({ leader }) => leader)?.name;
}

it(
  'a suspended node loses its pieces and its lead, and nothing that it writes afterwards counts',
  needs('s3'),
  async () => {
    const cluster = await openCluster();
    const options = { workers: 1, expectedLog: /./ };
    const first = await cluster.serve({ name: 'first', ...options });
    await eventually('the first leads', async () => (await leaderOf(first)) === 'first');
    cluster.wms.answer = 'hang';
    const id = await first.start({ zoomStop: 3, threadCount: 2 });
    await eventually('the first is at work', () => cluster.wms.active === 2);
    const pids = [first.pid, ...first.workers()];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    // Its requests have their responses when it resumes.
    cluster.wms.answer = 'good';
    cluster.wms.release();

    const second = await cluster.serve({ name: 'second', ...options });
    const all = { state: 'done', tilesTotal: 85, tilesProcessed: 85 };
    expect(await second.over(id)).toMatchObject(all);
    await eventually('the second leads', async () => (await leaderOf(second)) === 'second');
    cluster.wms.version = 2;
    const again = await second.start({ type: 'reseed', zoomStop: 3, threadCount: 2 });
    expect(await second.over(again)).toMatchObject(all);

    for (const pid of pids) process.kill(pid, 'SIGCONT');
    await eventually('the first has woken', async () => (await leaderOf(first)) === 'second');
    expect(await first.expectTiles(tilesOf(0, 3), { version: 2 })).toBe(85);
    await first.stop();
    expect(await second.expectTiles(tilesOf(0, 3), { version: 2 })).toBe(85);
    expect(await second.task(id)).toMatchObject(all);
    await second.stop();
  },
);

/** Rounds for each length of a stop. Milliseconds. */
const ROUNDS = inLength(1, 25);
const STOPS = isLong ? [6000, 20_000] : [6000];
/** Milliseconds for which the database does not answer a node that wakes. */
const OUTAGES = [0, 2000];

it.each(STOPS)(
  'a node stopped for %i ms shows no tile truncated in the meantime, also before its database answers',
  needs('s3'),
  async (stop) => {
    const cluster = await openCluster();
    const proxy = await openDatabaseProxy(cluster.database);
    whenOver(() => proxy.close());
    // A busy machine may be slow to answer its queries.
    const a = await cluster.open({ name: 'a', expectedLog: /has not answered within/ });
    const b = await cluster.serve({ name: 'b', database: proxy.address, expectedLog: /./ });
    const tiles = [...tilesOf(0, 2)];
    const truncate = '<truncateLayer><layerName>roads</layerName></truncateLayer>';
    for (const [round, outage] of Array.from({ length: ROUNDS }, () => OUTAGES)
      .flat()
      .entries()) {
      const version = round + 1;
      await b.expectTiles(tiles, { version });
      await b.untilStored();
      process.kill(b.pid, 'SIGSTOP');
      const stopped = pause(stop);
      cluster.wms.version = version + 1;
      expect((await a.request('POST', '/masstruncate', truncate, 'text/xml')).status).toBe(200);
      await stopped;
      proxy.block();
      const answered = pause(outage).then(proxy.mend);
      // These requests are waiting when it wakes.
      const shown = b.expectTiles(tiles, { version: version + 1 });
      process.kill(b.pid, 'SIGCONT');
      expect(await shown, `${outage} ms without its database`).toBe(21);
      await answered;
    }
    await b.stop();
    await a.stop();
  },
);
