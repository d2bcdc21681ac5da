import { expect, it } from 'vitest';
import { openCluster } from '../e2e/cluster.ts';
import { tilesOf } from '../e2e/task-server.ts';
import { eventually } from '../fixtures/eventually.ts';

it('a node that is stopped loses its pieces and its lead to another, and nothing that it does when it wakes counts', async () => {
  const cluster = await openCluster();
  const expectedLog = /./;
  const config = 'tasks: { workers: 1 }';
  const first = await cluster.serve({ name: 'first', config, expectedLog });
  const leaderOf = async (server: typeof first) => {
    const answer = await server.request('GET', '/api/v1/nodes');
    // Whoever has just woken may find its connections to the database gone.
    if (!answer.ok) return null;
    const { nodes } = (await answer.json()) as { nodes: { name: string; leader: boolean }[] };
    return nodes.find(({ leader }) => leader)?.name;
  };
  await eventually('the first leads', async () => (await leaderOf(first)) === 'first');
  const second = await cluster.serve({ name: 'second', config, expectedLog });
  cluster.wms.answer = { delayMs: 100 };
  const id = await first.start({ zoomStop: 5, threadCount: 2 });
  await eventually('both are at work', () => cluster.wms.requests.length > 8);

  const pids = [first.pid, ...first.workers()];
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  cluster.wms.answer = 'good';
  const task = await second.over(id);
  expect(task).toMatchObject({ state: 'done', tilesTotal: 1365, tilesProcessed: 1365 });
  await eventually('the second leads', async () => (await leaderOf(second)) === 'second');

  cluster.wms.version = 2;
  const renewed = await second.over(await second.start({ type: 'reseed', zoomStop: 5, threadCount: 4 }));
  expect(renewed).toMatchObject({ state: 'done', tilesProcessed: 1365 });
  for (const pid of pids) process.kill(pid, 'SIGCONT');
  await eventually('the first has woken', async () => (await leaderOf(first)) === 'second');
  expect(await second.expectTiles(tilesOf(0, 5), { version: 2 })).toBe(1365);
  expect(await first.expectTiles(tilesOf(0, 5), { version: 2 })).toBe(1365);
  expect(await second.task(id)).toMatchObject({ state: 'done', tilesProcessed: 1365 });
  await first.stop();
  await second.stop();
});
