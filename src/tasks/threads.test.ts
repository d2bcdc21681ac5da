import { afterEach, expect, it } from 'vitest';
import { createGate, until } from '../../test/fixtures/eventually.ts';
import { author, openTaskFixture, type TaskFixture } from '../../test/fixtures/task-fixture.ts';

let fixture: TaskFixture | null = null;

afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

it('a task requests more from upstream while earlier tiles are being stored, but not without limit', async () => {
  fixture = await openTaskFixture({ tasks: { maxThreads: 1 } });
  const { harness, service, ended } = fixture;
  const gate = createGate();
  const { put } = harness.store;
  harness.store.put = async (...args) => {
    await gate.opened;
    return await put(...args);
  };
  let atOnce = 0;
  let most = 0;
  harness.source.answer = async (request) => {
    most = Math.max(most, ++atOnce);
    await new Promise((resolve) => setImmediate(resolve));
    atOnce--;
    return harness.source.draw(request);
  };
  const task = await service.create(
    { layer: 'roads', type: 'reseed', zoomStart: 5, zoomStop: 5 },
    author('me'),
  );
  await until(() => harness.source.requests.length === 4);
  // With nothing stored there is no room for a fifth; by now it would have been asked.
  await until(() => harness.pipeline.status().flights === 4);
  expect(harness.source.requests).toHaveLength(4);
  gate.open();
  expect(await ended(task.id)).toMatchObject({ state: 'done', tilesProcessed: 1024n });
  expect(most).toBe(1);
});
