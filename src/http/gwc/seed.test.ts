import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed, listen } from '../../../test/fixtures/http-app.ts';
import { createPlannedTasks } from '../../../test/fixtures/task-app.ts';
import { author } from '../../../test/fixtures/task-fixture.ts';
import type { Caller } from '../../access/caller.ts';
import { createParameterFilter } from '../../domain/parameter-filter.ts';
import type { Task } from '../../tasks/task.ts';
import type { Access } from '../auth/access.ts';

const GOLDEN = fileURLToPath(new URL('../../../test/golden/seed-request', import.meta.url));

interface Golden {
  readonly status: number;
  readonly text?: string;
  readonly task?: Record<string, unknown> & { readonly bounds: readonly number[] };
}

const STATES_LAYER = layerNamed('topp:states', {
  parameters: [
    createParameterFilter({
      name: 'STYLES',
      defaultValue: 'population',
      values: ['population', 'polygon', 'pophatch'],
    }),
    createParameterFilter({ name: 'CQL_FILTER', defaultValue: 'INCLUDE', regex: '[A-Z_]+ [<>=]+ [0-9]+' }),
  ],
});

function createSeedApp(names: readonly string[] = [], access?: Access) {
  const catalog = catalogOf([STATES_LAYER, ...names.map((name) => layerNamed(name))]);
  const tasks = createPlannedTasks((name) => catalog.layer(name));
  return { ...createTestApp({ deps: { catalog, tasks }, ...(access ? { access } : {}) }), tasks };
}

type SeedApp = ReturnType<typeof createSeedApp>;

function accessAs(changes: Partial<Caller>): Access {
  const caller = { name: 'rosa', role: 'operator', layers: ['*'], via: 'basic', ...changes } as Caller;
  return { loopbackOnly: false, authenticate: async () => caller, stillHolds: async () => true };
}

const XML = { 'content-type': 'text/xml' };
const JSON_TYPE = { 'content-type': 'application/json' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const EMPTY_REQUEST = '{"seedRequest":{}}';

describe('a seed request', () => {
  const cases = readdirSync(GOLDEN).filter((name) => name.endsWith('.answer.json'));
  const names = cases.map((file) => file.replace('.answer.json', ''));

  it.each(names.flatMap((name) => [[name, 'xml'] as const, [name, 'json'] as const]))(
    'the seed request "%s" as %s has its golden result',
    async (name, format) => {
      const body = readFileSync(join(GOLDEN, `${name}.${format === 'xml' ? 'xml' : 'json.txt'}`));
      const golden = JSON.parse(readFileSync(join(GOLDEN, `${name}.answer.json`), 'utf8')) as Golden;
      const { request, tasks } = createSeedApp();
      const headers = format === 'xml' ? XML : JSON_TYPE;
      const answer = await request('POST', `/rest/seed/topp:states.${format}`, { headers, body });
      expect(answer).toMatchObject({ status: golden.status });
      expect(answer.headers['content-type']).toMatch(/^text\/plain/);
      expect(answer.text).toContain(golden.text ?? '');
      const task = await tasks.get(1);
      expect(task ? described(task) : null).toEqual(golden.task ?? null);
    },
  );

  it('a seed request is answered with nothing but the address of its task', async () => {
    const { request } = createSeedApp();
    const options = { headers: JSON_TYPE, body: EMPTY_REQUEST };
    const answer = await request('POST', '/geoserver/gwc/rest/seed/topp:states.json', options);
    expect(answer.text).toBe('');
    expect(answer.headers).toMatchObject({
      location: 'http://localhost/geoserver/gwc/api/v1/tasks/1',
      'x-task-id': '1',
      'content-length': '0',
    });
  });

  it.each([
    ['topp:states', 'topp:states'],
    ['topp%3Astates', 'topp:states'],
    ['img%20states', 'img states'],
    ['a.b.c', 'a.b.c'],
    ['a.json', 'a.json'],
    ['a.xml', 'a.xml'],
    ['a%2Fb', 'a/b'],
    ['100%25', '100%'],
    ['%E5%9C%B0', '地'],
  ])('a seed request reaches the layer that the path calls %s', async (path, name) => {
    const { request, tasks } = createSeedApp(['img states', 'a.b.c', 'a.json', 'a.xml', 'a/b', '100%', '地']);
    const options = { headers: JSON_TYPE, body: EMPTY_REQUEST };
    expect((await request('POST', `/rest/seed/${path}.json`, options)).status).toBe(200);
    expect((await tasks.get(1))?.request.layer).toBe(name);
  });

  it('a seed request for an unknown layer is a 404', async () => {
    const { request } = createSeedApp();
    const options = { headers: JSON_TYPE, body: EMPTY_REQUEST };
    expect(await request('POST', '/rest/seed/mars.json', options)).toMatchObject({
      status: 404,
      text: 'There is no layer mars.\n',
    });
  });

  it.each([
    ['json', 'application/json; charset=utf-8', 200],
    ['json', 'text/json', 200],
    ['json', 'application/x-www-form-urlencoded', 200],
    ['json', undefined, 200],
    ['json', 'text/xml', 415],
    ['json', 'text/plain', 415],
    ['json', 'nonsense', 415],
    ['xml', 'text/xml; charset=UTF-8', 200],
    ['xml', 'APPLICATION/XML', 200],
    ['xml', 'application/x-www-form-urlencoded', 200],
    ['xml', undefined, 200],
    ['xml', 'application/json', 415],
    ['xml', 'text/plain', 415],
    ['xml', 'multipart/form-data; boundary=x', 415],
  ])('a seed request as %s under the content type %s is a %i', async (format, contentType, status) => {
    const { request, tasks } = createSeedApp();
    const headers: Record<string, string> = contentType === undefined ? {} : { 'content-type': contentType };
    const body = Buffer.from(format === 'xml' ? '<seedRequest/>' : EMPTY_REQUEST);
    expect((await request('POST', `/rest/seed/topp:states.${format}`, { headers, body })).status).toBe(
      status,
    );
    expect((await tasks.active(null)).length).toBe(status === 200 ? 1 : 0);
  });

  it('a seed request is refused when it is too large or compressed', async () => {
    const { request } = createSeedApp();
    const large = { headers: JSON_TYPE, body: EMPTY_REQUEST.padEnd(65 * 1024) };
    const packed = { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: EMPTY_REQUEST };
    expect((await request('POST', '/rest/seed/topp:states.json', large)).status).toBe(413);
    expect((await request('POST', '/rest/seed/topp:states.json', packed)).status).toBe(415);
  });

  it('a seed request that is far too large is answered, not cut off', async () => {
    const { url, close } = await listen(createSeedApp());
    try {
      for (const body of [Buffer.alloc(70_000, 32), Buffer.alloc(3_000_000, 32)]) {
        const answer = await fetch(`${url}/rest/seed/topp:states.json`, {
          method: 'POST',
          headers: JSON_TYPE,
          body,
        });
        expect(answer.status).toBe(413);
        expect(await answer.text()).toBe('A body may have at most 65536 bytes.\n');
      }
    } finally {
      await close();
    }
  });

  it.each([
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'same-origin', origin: 'http://elsewhere.example' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ origin: 'http://elsewhere.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost' }, 200],
    [{}, 200],
  ])('a seed request from a page with %j is a %i', async (headers, status) => {
    const { request } = createSeedApp();
    const options = {
      headers: { ...JSON_TYPE, ...(headers as Record<string, string>) },
      body: EMPTY_REQUEST,
    };
    expect((await request('POST', '/rest/seed/topp:states.json', options)).status).toBe(status);
  });

  it('a seed request needs the role of an operator for that layer', async () => {
    const options = { headers: JSON_TYPE, body: EMPTY_REQUEST };
    const post = (access: Access) =>
      createSeedApp([], access).request('POST', '/rest/seed/topp:states.json', options);
    expect(
      (await post({ loopbackOnly: false, authenticate: async () => null, stillHolds: async () => false }))
        .status,
    ).toBe(401);
    expect((await post(accessAs({ role: 'viewer' }))).status).toBe(403);
    expect((await post(accessAs({ layers: ['img*'] }))).status).toBe(403);
    expect((await post(accessAs({ layers: ['img*', 'topp:*'] }))).status).toBe(200);
    expect((await post(accessAs({ role: 'admin' }))).status).toBe(200);
  });
});

describe('the list of tasks', () => {
  it('the list of seed tasks has five exact numbers for each task that is pending or running', async () => {
    const { request, tasks } = createSeedApp(['roads']);
    for (const layer of ['roads', 'topp:states', 'roads'])
      await tasks.create({ layer, zoomStop: 0 }, author('rosa'));
    tasks.set(1, {
      state: 'running',
      tilesProcessed: 9_007_199_254_740_993n,
      tilesTotal: 9_223_372_036_854_775_807n,
      secondsRemaining: 12.3,
    });
    tasks.set(3, { state: 'done' });
    const answer = await request('GET', '/rest/seed.json');
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.text).toBe(
      '{"long-array-array":[[9007199254740993,9223372036854775807,13,1,1],[0,1,-1,2,0]]}',
    );
    for (const format of ['json', 'xml']) {
      const ofLayer = await request('GET', `/rest/seed/topp:states.${format}`);
      expect(ofLayer).toMatchObject({ status: 200, text: '{"long-array-array":[[0,1,-1,2,0]]}' });
    }
  });

  it('the list of seed tasks is empty without tasks, and absent for an unknown layer', async () => {
    const { request } = createSeedApp();
    expect((await request('GET', '/rest/seed.json')).text).toBe('{"long-array-array":[]}');
    expect((await request('GET', '/rest/seed/mars.json')).status).toBe(404);
  });
});

describe('stopping tasks', () => {
  async function busyApp(access?: Access): Promise<SeedApp> {
    const app = createSeedApp(['roads'], access);
    for (const layer of ['roads', 'roads', 'topp:states', 'topp:states'])
      await app.tasks.create({ layer }, author('rosa'));
    app.tasks.set(1, { state: 'running' });
    app.tasks.set(3, { state: 'running' });
    return app;
  }

  async function abortedIn({ tasks }: SeedApp): Promise<number[]> {
    return (await tasks.list({ states: ['aborted'], limit: 10 })).map(({ id }) => id).sort();
  }

  it.each([
    ['/rest/seed', 'kill_all=running', [1, 3]],
    ['/rest/seed', 'kill_all=1', [1, 3]],
    ['/rest/seed', 'kill_all=PENDING', [2, 4]],
    ['/rest/seed', 'kill_all=all', [1, 2, 3, 4]],
    ['/geowebcache/rest/seed/roads', 'kill_all=all', [1, 2]],
    ['/rest/seed/topp%3Astates', 'kill_all=running', [3]],
    ['/rest/seed/roads', 'kill_thread=1&thread_id=2', [2]],
    ['/rest/seed/roads', 'kill_thread=1&thread_id=3', []],
  ])('stopping tasks by %s with %s stops %j', async (path, body, stopped) => {
    const app = await busyApp();
    const answer = await app.request('POST', path, { headers: FORM, body });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(await abortedIn(app)).toEqual(stopped);
    for (const id of stopped) expect(answer.text).toContain(`[${id}: `);
  });

  it('the form with list=layer or list=all gets a list of tasks', async () => {
    const app = await busyApp();
    const listed = async (body: string) =>
      (await app.request('POST', '/rest/seed/roads', { headers: FORM, body })).text.match(/\[\d+: /g);
    expect(await listed('list=layer')).toHaveLength(2);
    expect(await listed('list=all')).toHaveLength(4);
  });

  it.each([
    ['/rest/seed', '', 400, 'running, pending, all or 1'],
    ['/rest/seed', 'kill_all=everything', 400, 'running, pending, all or 1'],
    ['/rest/seed', 'kill_all=all&kill_all=running', 400, 'all and running'],
    ['/rest/seed/roads', 'kill_thread=1&thread_id=x', 400, 'thread_id'],
    ['/rest/seed/mars', 'kill_all=all', 404, 'mars'],
  ])('stopping tasks by %s with "%s" is a %i', async (path, body, status, message) => {
    const app = await busyApp();
    const answer = await app.request('POST', path, { headers: FORM, body });
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    expect(answer.text).toContain(message);
    expect(await abortedIn(app)).toEqual([]);
  });

  it.each([
    ['text/xml', 200],
    ['application/json', 415],
    ['text/plain', 415],
  ])('stopping tasks by a form under the content type %s is a %i', async (contentType, status) => {
    const app = await busyApp();
    const options = { headers: { 'content-type': contentType }, body: 'kill_all=all' };
    expect((await app.request('POST', '/rest/seed', options)).status).toBe(status);
  });

  it('stopping all tasks reaches only the layers that the caller may work on', async () => {
    const app = await busyApp(accessAs({ layers: ['roads'] }));
    await app.request('POST', '/rest/seed', { headers: FORM, body: 'kill_all=all' });
    expect(await abortedIn(app)).toEqual([1, 2]);
  });

  it('stopping tasks shows names as text, whatever is in them', async () => {
    const name = '<img src=x onerror=alert(1)>&"\'';
    const { request, tasks } = createSeedApp([name]);
    await tasks.create({ layer: name }, author('rosa'));
    const answer = await request('POST', '/rest/seed', { headers: FORM, body: 'kill_all=all' });
    expect(answer.text).toContain('&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;');
    expect(answer.text).not.toContain('<img');
  });
});

describe('methods', () => {
  it.each([
    ['/rest/seed.json', 'GET, HEAD', ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']],
    ['/rest/seed', 'POST', ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']],
    ['/rest/seed/topp:states.json', 'GET, HEAD, POST', ['PUT', 'DELETE', 'PATCH', 'OPTIONS']],
    ['/rest/seed/topp:states.xml', 'GET, HEAD, POST', ['PUT', 'DELETE', 'PATCH', 'OPTIONS']],
    ['/rest/seed/topp:states', 'POST', ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']],
  ])('unsupported methods of %s are refused', async (path, allow, methods) => {
    const { request } = createSeedApp();
    for (const method of methods) {
      const answer = await request(method, path);
      expect(answer).toMatchObject({ status: 405, headers: { allow } });
    }
  });

  it('an unsupported method of /rest/seed is a 401 without credentials', async () => {
    const { request } = createSeedApp([], {
      loopbackOnly: false,
      authenticate: async () => null,
      stillHolds: async () => false,
    });
    expect((await request('DELETE', '/rest/seed.json')).status).toBe(401);
  });
});

function described({ request }: Task): Record<string, unknown> {
  const { bounds, area, parametersId, priority, onlyStale, ...rest } = request;
  return { ...rest, bounds: [bounds.minX, bounds.minY, bounds.maxX, bounds.maxY] };
}

it('stopping tasks reaches all of a caller’s layers, however many tasks of others there are', async () => {
  const app = createSeedApp(['roads'], accessAs({ layers: ['roads'] }));
  await app.tasks.create({ layer: 'roads', zoomStop: 0 }, author('rosa'));
  for (let i = 0; i < 1001; i++)
    await app.tasks.create({ layer: 'topp:states', zoomStop: 0 }, author('anna'));
  const answer = await app.request('POST', '/rest/seed', { headers: FORM, body: 'kill_all=all' });
  expect(answer.text).toContain('[1: roads, seed, pending]');
  expect((await app.tasks.get(1))?.state).toBe('aborted');
  expect((await app.tasks.get(2))?.state).toBe('pending');
});

describe('the form of GeoWebCache’s seed page', () => {
  const FIELDS =
    'threadCount=02&type=truncate&gridSetId=EPSG%3A4326&tileFormat=image%2Fpng&zoomStart=01&zoomStop=02&parameter_STYLES=pophatch' +
    '&tileFailureRetryCount=0&tileFailureRetryWaitTime=100&totalFailuresBeforeAborting=1000';

  it('the form of GeoWebCache’s seed page starts a task', async () => {
    const app = createSeedApp();
    const body = `${FIELDS}&minX=-130&minY=20&maxX=-60&maxY=55`;
    const answer = await app.request('POST', '/rest/seed/topp:states', { headers: FORM, body });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(answer.text).toContain('Task submitted');
    const [task] = await app.tasks.list({ limit: 10 });
    expect(answer.headers['x-task-id']).toBe(String(task?.id));
    expect(task?.request).toMatchObject({
      layer: 'topp:states',
      type: 'truncate',
      gridSet: 'EPSG:4326',
      format: 'image/png',
      zoomStart: 1,
      zoomStop: 2,
    });
  });

  it('the form of GeoWebCache’s seed page with empty corners means the whole layer', async () => {
    const app = createSeedApp();
    const body = 'type=seed&submit=Submit&zoomStart=0&zoomStop=0&minX=&minY=&maxX=&maxY=';
    expect((await app.request('POST', '/rest/seed/topp:states', { headers: FORM, body })).status).toBe(200);
  });

  it.each([
    [`${FIELDS}&minX=-130&minY=20`, 'Missing value for maxX'],
    [`${FIELDS}&minX=west&minY=20&maxX=0&maxY=30`, 'west'],
    ['minX=&type=shrink', 'shrink'],
    ['minX=&zoomStart=x', 'zoomStart'],
    ['minX=&type=truncate&zomStart=10', 'zomStart is not a field of seedRequest; did you mean zoomStart?'],
    ['minX=&type=truncate&paramter_STYLES=pophatch', 'paramter_STYLES'],
    ['minX=&type=truncate&parameter_STYLE=pophatch', 'STYLE is unknown'],
    ['minX=&type=truncate&parameter_STYLES=polygon&parameter_STYLES=pophatch', 'more than once'],
    ['minX=&type=truncate&zoomStart=10&zoomStart=0', 'zoomStart is given more than once'],
    ['minX=&type=truncate&format=image/png&tileFormat=image/jpeg', 'format is given more than once'],
    [`${FIELDS}&minX=-130&minX=0&minY=20&maxX=-60&maxY=55`, 'bounds must have four numbers'],
  ])('the form of GeoWebCache’s seed page with %s is refused, and starts nothing', async (body, message) => {
    const app = createSeedApp();
    const answer = await app.request('POST', '/rest/seed/topp:states', { headers: FORM, body });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(message);
    expect(await app.tasks.list({ limit: 10 })).toEqual([]);
  });
});

it.each([
  ['/geowebcache/demo/', '/geowebcache/demo'],
  ['/geowebcache/demo/topp:states?gridSet=EPSG:4326&format=image/png', '/geowebcache/layers/topp%3Astates'],
])('the page %s of GeoWebCache leads to %s', async (path, place) => {
  const answer = await createSeedApp().request('GET', path);
  expect(answer.status).toBe(302);
  expect(new URL(answer.headers.location as string).pathname).toBe(place);
});
