import { afterEach, expect, it } from 'vitest';
import { author } from '../../test/fixtures/author.ts';
import { openTaskHouse, type TaskHouse } from '../../test/fixtures/task-house.ts';
import { createGate, until } from '../../test/fixtures/tile-road.ts';

let house: TaskHouse | null = null;

afterEach(async () => {
  await house?.close();
  house = null;
});

it('a task requests more from upstream while earlier tiles are being stored, but not without limit', async () => {
  house = await openTaskHouse({ tasks: { maxThreads: 1 } });
  const { road, service, ended } = house;
  const gate = createGate();
  const { putMany } = road.store;
  road.store.putMany = async (...args) => {
    await gate.opened;
    return await putMany(...args);
  };
  let atOnce = 0;
  let most = 0;
  road.source.answer = async (request) => {
    most = Math.max(most, ++atOnce);
    await new Promise((resolve) => setImmediate(resolve));
    atOnce--;
    return road.source.draw(request);
  };
  const task = await service.create(
    { layer: 'roads', type: 'reseed', zoomStart: 5, zoomStop: 5 },
    author('me'),
  );
  await until(() => road.source.requests.length === 4);
  // With nothing stored there is no room for a fifth; by now it would have been asked.
  await until(() => road.pipeline.status().flights === 4);
  expect(road.source.requests).toHaveLength(4);
  gate.open();
  expect(await ended(task.id)).toMatchObject({ state: 'done', tilesProcessed: 1024n });
  expect(most).toBe(1);
});
