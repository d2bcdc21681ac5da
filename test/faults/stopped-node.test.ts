import { expect, it } from 'vitest';
import { openCluster } from '../e2e/cluster.ts';
import { type TaskServer, tilesOf } from '../e2e/task-server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { needs } from '../fixtures/needs.ts';

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
