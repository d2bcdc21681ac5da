import { describe, expect, it } from 'vitest';
import { createTaskApp, post, type TaskApp } from '../../../test/fixtures/task-app.ts';
import { author } from '../../../test/fixtures/task-fixture.ts';
import type { Caller } from '../../access/caller.ts';
import type { Access } from '../auth/access.ts';

describe('stopping tasks by a filter', () => {
  async function threeTasks(access?: Access): Promise<TaskApp> {
    const app = createTaskApp(access);
    await app.tasks.create({ layer: 'world' }, author('rosa'));
    await app.tasks.create({ layer: 'roads' }, author('rosa'));
    await app.tasks.create({ layer: 'world', type: 'truncate' }, author('rosa'));
    app.tasks.set(1, { state: 'running' });
    return app;
  }

  const states = async (app: TaskApp) => (await app.tasks.list({ limit: 10 })).map(({ state }) => state);

  it('stopping tasks by a filter stops matching tasks alone, after a dry run that counts the same', async () => {
    const app = await threeTasks();
    const body = { layer: 'world', type: 'truncate', state: ['pending', 'running'] };
    const counted = await post(app, '/api/v1/tasks/stop', { ...body, dryRun: true });
    expect(JSON.parse(counted.text).count).toEqual({ running: 0, pending: 1, paused: 0 });
    expect(await states(app)).toEqual(['pending', 'pending', 'running']);
    const stopped = await post(app, '/api/v1/tasks/stop', body);
    expect(JSON.parse(stopped.text)).toEqual({ count: { running: 0, pending: 1, paused: 0 }, tasks: [3] });
    expect(await states(app)).toEqual(['aborted', 'pending', 'running']);
  });

  it('stopping every task needs an explicit all', async () => {
    const app = await threeTasks();
    const stopped = await post(app, '/api/v1/tasks/stop', { all: true });
    expect(JSON.parse(stopped.text).count).toEqual({ running: 1, pending: 2, paused: 0 });
  });

  it.each([
    [{}, 400, 'or "all": true for every task'],
    [{ dryRun: true }, 400, 'or "all": true for every task'],
    [{ all: false }, 400, 'all must be true'],
    [{ all: true, layer: 'world' }, 400, 'all cannot be given with layer'],
    [{ states: ['running'] }, 400, 'states'],
    [{ state: [] }, 400, 'state'],
    [{ state: null }, 400, 'state'],
    [{ layer: 'flakey' }, 404, 'flakey'],
    [{ layer: '' }, 400, 'layer'],
  ])('a body of %j stops no task and is a %i', async (body, status, message) => {
    const app = await threeTasks();
    const answer = await post(app, '/api/v1/tasks/stop', body);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(message)]);
    expect(await states(app)).toEqual(['pending', 'pending', 'running']);
  });

  it('stopping tasks of a scoped operator reaches only layers that the operator may work on', async () => {
    const caller = { name: 'rosa', role: 'operator', layers: ['roads'], via: 'basic' } as Caller;
    const app = await threeTasks({
      loopbackOnly: false,
      authenticate: async () => caller,
      stillHolds: async () => true,
    });
    for (const layer of ['world', 'flakey'])
      expect((await post(app, '/api/v1/tasks/stop', { layer })).status).toBe(403);
    const counted = await post(app, '/api/v1/tasks/stop', { all: true, dryRun: true });
    expect(JSON.parse(counted.text).count).toEqual({ running: 0, pending: 1, paused: 0 });
    expect(JSON.parse((await post(app, '/api/v1/tasks/stop', { all: true })).text).tasks).toEqual([2]);
    expect(await states(app)).toEqual(['pending', 'aborted', 'running']);
  });
});
