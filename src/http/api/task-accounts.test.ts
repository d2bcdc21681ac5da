import { expect, it } from 'vitest';
import { eventually } from '../../../test/fixtures/eventually.ts';
import { catalogOf, createTestApp, layerNamed, listen } from '../../../test/fixtures/http-app.ts';
import { createPlannedTasks, createTaskApp } from '../../../test/fixtures/task-app.ts';
import { author } from '../../../test/fixtures/task-fixture.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { createDeferred } from '../../lib/deferred.ts';
import type { Access } from '../auth/access.ts';
import { DEFAULT_LIMITS } from '../limits.ts';

/** Every name in the header `Authorization` is an administrator. */
const BY_NAME: Access = {
  loopbackOnly: false,
  authenticate: async ({ authorization }) => ({
    name: authorization ?? '',
    role: 'admin',
    layers: ['*'],
    via: 'basic',
  }),
  stillHolds: async () => true,
};

it('one account cannot take all places for administrative requests', async () => {
  const app = createTaskApp(BY_NAME);
  const pending = createDeferred<never>();
  app.tasks.count = () => pending.promise;
  const get = (name: string, path: string) => app.request('GET', path, { headers: { authorization: name } });
  const waiting = Array.from({ length: DEFAULT_LIMITS.adminRequestsOfOne }, () =>
    get('rosa', '/api/v1/tasks'),
  );
  await eventually(
    'all places of the account to be taken',
    () => get('rosa', '/api/v1/gridsets'),
    ({ status }) => status === 429,
  );
  expect((await get('otto', '/api/v1/gridsets')).status).toBe(200);
  pending.reject(new Error('the test is over'));
  await Promise.all(waiting);
  expect((await get('rosa', '/api/v1/gridsets')).status).toBe(200);
});

it('the answer and name of a map server are hidden from an account that may not see the layer', async () => {
  const catalog = catalogOf([layerNamed('secret', { access: 'admin' }), layerNamed('above')]);
  const declared = { source: { type: 'layer', layer: 'secret' }, store: '', adopt: [] };
  const bound = catalog.layer;
  let removed = '';
  catalog.layer = (name) => {
    const layer = name === removed ? null : bound(name);
    return layer && name === 'above' ? Object.defineProperty(layer, 'declared', { value: declared }) : layer;
  };
  const tasks = createPlannedTasks((name) => catalog.layer(name));
  const access: Access = {
    ...BY_NAME,
    authenticate: async ({ authorization }) => ({
      name: 'x',
      role: authorization === 'admin' ? 'admin' : 'operator',
      layers: ['*'],
      via: 'basic',
    }),
  };
  const app = createTestApp({ deps: { catalog, tasks }, access });
  await tasks.create({ layer: 'secret' }, author('rosa'));
  const upstream = { status: 500, text: 'No map', address: 'http://inner.test/wms' };
  const errors = [{ at: 0, z: 0, x: 0, y: 0, message: 'It failed.', upstream }];
  const until = Date.UTC(2100, 0);
  const wait = { host: 'inner.test:80', reason: 'failing', until, notedAt: 0 } as const;
  await tasks.create({ layer: 'above' }, author('rosa'));
  const seenBy = async (authorization: string, path: string) =>
    (await app.request('GET', path, { headers: { authorization } })).text;
  for (const [gone, waitingFor, reason] of [
    ['', wait, 'host inner.test:80 is failing'],
    ['', null, 'host inner.test:80 has been failing since noon; the task waited 8 minutes for it'],
    ['secret', wait, 'host inner.test:80 is failing'],
  ] as const) {
    removed = gone;
    for (const id of [1, 2]) tasks.set(id, { errors, waitingFor, reason });
    for (const path of ['/api/v1/tasks', '/api/v1/tasks/1', '/api/v1/tasks/2']) {
      expect(await seenBy('admin', path)).toContain('inner.test');
      expect(await seenBy('operator', path)).toContain('It failed.');
      expect(await seenBy('operator', path)).not.toContain('inner.test');
    }
  }
});

it('one account can have 25 streams, and others have room beside it', async () => {
  const { url, close } = await listen(createTaskApp(BY_NAME));
  whenOver(close);
  const open = (name: string) => fetch(`${url}/api/v1/events`, { headers: { authorization: name } });
  const streams = await Promise.all(Array.from({ length: 25 }, () => open('rosa')));
  expect(streams.map(({ status }) => status)).toEqual(Array(25).fill(200));
  const refused = await open('rosa');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10']);
  const others = await open('otto');
  expect(others.status).toBe(200);
  for (const { body } of [...streams, others]) await body?.cancel();
});
