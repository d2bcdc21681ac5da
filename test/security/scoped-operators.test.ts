import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../e2e/server.ts';
import { pictureLayer } from '../fixtures/configurations.ts';

/** Operators by token: one for the layer `mine` only, one for all layers. */
let server: RunningServer;
let mary = '';
let otto = '';

const EXPORT = { layer: 'secret', type: 'mbtiles' };
const SEED = { layer: 'mine', zoomStop: 0 };

beforeAll(async () => {
  const layers = await pictureLayer('mine', 0);
  const theirs = layers.slice(layers.indexOf('  - name')).replace('mine', 'theirs');
  const secret = theirs.replace('theirs', 'secret\n    access: admin');
  server = await startServer({
    config: `tasks: { workers: 0, maxUnfinished: 20 }${layers}${theirs}${secret}`,
  });
  mary = await token('mary', ['mine']);
  otto = await token('otto', ['*']);
});
afterAll(() => server?.stop());

async function token(name: string, layers: readonly string[]): Promise<string> {
  const made = await call('POST', 'tokens', { name, role: 'operator', layers });
  return `Bearer ${((await made.json()) as { token: string }).token}`;
}

function call(method: string, path: string, body?: object, authorization = server.authorization) {
  const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
  return fetch(`${server.url}/api/v1/${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
}

async function json<T>(...given: Parameters<typeof call>): Promise<T> {
  return (await (await call(...given)).json()) as T;
}

it('an idempotency key is repeated by its account with the same request only', async () => {
  const keyed = { ...SEED, idempotencyKey: 'deploy' };
  const first = await json<{ id: number }>('POST', 'tasks', keyed, mary);
  expect(await json('POST', 'tasks', keyed, mary)).toMatchObject({ id: first.id });
  const other = await call('POST', 'tasks', { ...keyed, type: 'truncate' }, mary);
  expect(other.status).toBe(409);
  expect(await other.text()).toMatch(/idempotency key.*different request/i);
  const ofOtto = await json<{ id: number }>('POST', 'tasks', { ...keyed, type: 'truncate' }, otto);
  expect(ofOtto.id).not.toBe(first.id);
});

it('an operator can neither export a layer of administrators nor see its exports', async () => {
  expect((await call('POST', 'exports', EXPORT, otto)).status).toBe(403);
  const tile = `${server.url}/tiles/secret/0/0/0.png`;
  expect((await fetch(tile, { headers: { authorization: otto } })).status).toBe(403);
  expect((await fetch(tile, { headers: { authorization: server.authorization } })).status).toBe(200);
  const { id } = await json<{ id: string }>('POST', 'exports', EXPORT);
  expect(await json('GET', 'exports')).toMatchObject({ exports: [{ id }] });
  expect(await json('GET', 'exports', undefined, otto)).toEqual({ exports: [] });
  expect((await call('GET', `exports/${id}`, undefined, otto)).status).toBe(403);
  expect((await call('GET', `exports/${id}/file`, undefined, otto)).status).toBe(403);
  expect((await call('DELETE', `exports/${id}`, undefined, otto)).status).toBe(403);
  // This server performs no tasks.
  expect((await call('GET', `exports/${id}/file`)).status).toBe(409);
  expect((await call('DELETE', `exports/${id}`)).status).toBe(204);
});

it('an operator that starts its maximum of tasks leaves room for tasks of other accounts', async () => {
  const answers: Response[] = [];
  for (let n = 0; n < 11; n++) answers.push(await call('POST', 'tasks', SEED, mary));
  const refused = answers.at(-1);
  expect(refused?.status).toBe(429);
  expect(await refused?.text()).toMatch(/At most 10 tasks of one account/);
  expect((await call('POST', 'tasks', SEED, otto)).status).toBe(201);
  expect((await call('POST', 'tasks', SEED)).status).toBe(201);
});
