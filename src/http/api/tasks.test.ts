import { afterEach, describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed, listen } from '../../../test/fixtures/http-app.ts';
import { createPlannedTasks, createTaskApp, post, type TaskApp } from '../../../test/fixtures/task-app.ts';
import { author } from '../../../test/fixtures/task-fixture.ts';
import type { Caller } from '../../access/caller.ts';
import type { HttpServerDeps } from '../http-app.ts';

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

describe('creating a task', () => {
  it('creating a task answers with the task and its address', async () => {
    const app = createTaskApp();
    const answer = await post(app, '/geowebcache/api/v1/tasks', {
      layer: 'world',
      type: 'reseed',
      gridSet: 'EPSG:4326',
      zoomStop: 3,
      bounds: [-10, 40, 10, 60],
      parameters: { STYLES: 'dark' },
      priority: 2,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.location).toBe('http://localhost/geowebcache/api/v1/tasks/1');
    expect(JSON.parse(answer.text)).toMatchObject({
      id: 1,
      layer: 'world',
      type: 'reseed',
      state: 'pending',
      tilesProcessed: 0,
      secondsRemaining: -1,
      reason: null,
      gridSet: 'EPSG:4326',
      bounds: [-10, 40, 10, 60],
      parameters: { STYLES: 'dark' },
      priority: 2,
      createdBy: 'local',
      createdAt: '2026-01-02T03:04:05.000Z',
      endedAt: null,
    });
  });

  it.each([
    {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [10, 0],
          [10, 10],
          [0, 0],
        ],
      ],
    },
    {
      type: 'MultiPolygon',
      coordinates: [
        [
          [
            [0, 0],
            [10, 0],
            [10, 10],
            [0, 0],
          ],
        ],
      ],
    },
    {
      type: 'Feature',
      properties: null,
      geometry: {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [10, 0],
            [10, 10],
            [0, 0],
          ],
        ],
      },
    },
    {
      type: 'FeatureCollection',
      features: [
        {
          type: 'Feature',
          geometry: {
            type: 'Polygon',
            coordinates: [
              [
                [0, 0, 5],
                [10, 0, 5],
                [10, 10, 5],
                [0, 0, 5],
              ],
            ],
          },
        },
      ],
    },
  ])('creating a task takes an area as GeoJSON $type', async (area) => {
    const app = createTaskApp();
    const answer = await post(app, '/api/v1/tasks', {
      layer: 'world',
      gridSet: 'EPSG:4326',
      zoomStop: 4,
      area,
    });
    expect(answer.status).toBe(201);
    const rings = [
      [
        [0, 0],
        [10, 0],
        [10, 10],
        [0, 0],
      ],
    ];
    expect(JSON.parse(answer.text).area).toEqual({ type: 'MultiPolygon', coordinates: [rings] });
  });

  it.each([11, -11, 0.5])('a task with the priority %s is refused', async (priority) => {
    const answer = await post(createTaskApp(), '/geowebcache/api/v1/tasks', { layer: 'world', priority });
    expect([answer.status, answer.text]).toEqual([400, expect.stringMatching(/^priority must be /)]);
  });

  it('a dry run of a task only estimates', async () => {
    const app = createTaskApp();
    const answer = await post(app, '/api/v1/tasks', { layer: 'world', zoomStop: 2, dryRun: true });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject({ tiles: 21, bytes: null });
    expect(await app.tasks.active(null)).toEqual([]);
  });

  it('every makes a task for each format and listed parameter value', async () => {
    const app = createTaskApp();
    const body = { layer: 'world', zoomStop: 2, every: true };
    expect((await post(app, '/api/v1/tasks', body)).status).toBe(201);
    const combinations = (await app.tasks.active('world')).map(({ request }) => [
      request.format,
      request.parameters.STYLES,
    ]);
    expect(combinations).toEqual([
      ['image/png', 'light'],
      ['image/png', 'dark'],
      ['image/jpeg', 'light'],
      ['image/jpeg', 'dark'],
    ]);
    const mixed = await post(app, '/api/v1/tasks', { ...body, format: 'image/png' });
    expect([mixed.status, mixed.text]).toEqual([
      400,
      'every excludes format, parameters and idempotencyKey.\n',
    ]);
    await post(app, '/api/v1/tasks', { ...body, type: 'truncate' });
    const [truncation] = (await app.tasks.active('world')).slice(4);
    expect(truncation?.request).toMatchObject({ format: '*', parameters: {} });
  });

  it('a dry run of a task reports whether the tiles fit the quota and the disk', async () => {
    const app = createTaskApp();
    const room = { folder: '/', freeBytes: 1000, freePercent: 20, minFreePercent: 10, storing: true };
    const estimate = {
      tiles: 10n,
      cachedTiles: 5n,
      cachedBytes: 500n,
      staleTiles: 0n,
      bytes: 1200n,
      addedBytes: { least: 600n, most: 600n },
      zooms: [],
      seconds: 4,
      disk: room,
      coveredUse: null,
    };
    app.tasks.estimate = async () => ({ ...estimate, metatiles: 1n, upstreamRequests: 1n });
    const limit = { scope: 'layer', limitBytes: 2000, usedBytes: 1500 } as const;
    Object.assign(app.quota, { roomFor: async () => limit });
    const answer = await post(app, '/api/v1/tasks', { layer: 'world', dryRun: true });
    expect(JSON.parse(answer.text)).toMatchObject({
      quota: { ...limit, fits: false },
      disk: { freeBytes: 1000, fits: false },
    });
    Object.assign(room, { freeBytes: 1201 });
    Object.assign(app.quota, { roomFor: async () => null });
    expect(
      JSON.parse((await post(app, '/api/v1/tasks', { layer: 'world', dryRun: true })).text),
    ).toMatchObject({
      quota: null,
      disk: { fits: true },
    });
  });

  it('creating a task leaves an audit entry with the layer and the task, and a dry run none', async () => {
    const trace: object[] = [];
    const record = async (entry: object) => void trace.push(entry);
    const accounts = { audit: { record, note: () => {} } } as unknown as HttpServerDeps['accounts'];
    const catalog = catalogOf([layerNamed('world')]);
    const tasks = createPlannedTasks((name) => catalog.layer(name));
    const quota = {
      roomFor: async () => null,
      evicted: { tiles: 0, bytes: 0 },
    } as unknown as HttpServerDeps['quota'];
    const app = { ...createTestApp({ deps: { catalog, tasks, quota, accounts } }), tasks, quota };
    await post(app, '/api/v1/tasks', { layer: 'world', zoomStop: 2, dryRun: true });
    expect(trace).toEqual([]);
    await post(app, '/api/v1/tasks', { layer: 'world', zoomStop: 2, dryRun: false });
    await post(app, '/api/v1/tasks/1/pause');
    const target = 'layer:world';
    expect(trace).toMatchObject([
      { phase: 'begun', action: 'POST /api/v1/tasks' },
      { phase: 'ended', target, after: { task: 1, type: 'seed', state: 'pending' }, outcome: 'done' },
      { phase: 'begun' },
      { phase: 'ended', target, after: { task: 1, state: 'paused' } },
    ]);
    await post(app, '/api/v1/tasks', { dryRun: 'perhaps' });
    expect(trace.at(-1)).toMatchObject({ outcome: 'refused', status: 400 });
  });

  it.each([
    [{}, 400, 'layer is missing'],
    [{ layer: 'mars' }, 404, 'mars'],
    [
      { layer: 'world', area: { type: 'Point', coordinates: [0, 0] } },
      400,
      'area.type must be one of Polygon, MultiPolygon',
    ],
    [
      { layer: 'world', area: { type: 'Polygon', coordinates: [[[0], [1, 1], [2, 2]]] } },
      400,
      'coordinates[0][0][1] is missing',
    ],
    [{ layer: 'world', areaCrs: 'EPSG:31370', area: { type: 'Polygon', coordinates: [] } }, 400, 'areaCrs'],
    [{ layer: 'world', dryRun: 'perhaps' }, 400, 'dryRun must be true or false'],
  ])('creating a task from %j is refused with %i', async (value, status, message) => {
    const answer = await post(createTaskApp(), '/api/v1/tasks', value);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(message);
  });

  it('creating a task is not possible on a layer that the caller may not work on', async () => {
    const caller = { name: 'rosa', role: 'operator', layers: ['roads'], via: 'basic' } as Caller;
    const app = createTaskApp({
      loopbackOnly: false,
      authenticate: async () => caller,
      stillHolds: async () => true,
    });
    await app.tasks.create({ layer: 'world' }, author('admin'));
    for (const fields of [{}, { parameters: { MONTH: 'may' } }, { area: 'nowhere' }]) {
      expect((await post(app, '/api/v1/tasks', { layer: 'world', ...fields })).status).toBe(403);
      const schedule = { name: 'x', layer: 'world', cron: '@daily', ...fields };
      expect((await post(app, '/api/v1/schedules', schedule)).status).toBe(403);
    }
    expect((await post(app, '/api/v1/tasks/1/cancel')).status).toBe(403);
    expect((await post(app, '/api/v1/tasks', { layer: 'roads' })).status).toBe(201);
  });
});

describe('reading tasks', () => {
  async function idsOf(app: TaskApp, query: string): Promise<unknown> {
    const { tasks, nextAfter } = JSON.parse((await app.request('GET', `/api/v1/tasks${query}`)).text);
    return [tasks.map(({ id }: { id: number }) => id), nextAfter];
  }

  it('the list of tasks is filtered and in pages, newest first', async () => {
    const app = createTaskApp();
    for (const layer of ['world', 'roads', 'world', 'roads'])
      await app.tasks.create({ layer }, author('rosa'));
    app.tasks.set(2, { state: 'done' });
    app.tasks.set(3, { state: 'running' });
    expect(await idsOf(app, '')).toEqual([[4, 3, 2, 1], null]);
    expect(await idsOf(app, '?limit=3')).toEqual([[4, 3, 2], 2]);
    expect(await idsOf(app, '?limit=3&after=2')).toEqual([[1], null]);
    expect(await idsOf(app, '?state=done,running')).toEqual([[3, 2], null]);
    expect(await idsOf(app, '?state=done&state=running')).toEqual([[3, 2], null]);
    expect(await idsOf(app, '?until=2026-01-01')).toEqual([[], null]);
    expect(await idsOf(app, '?layer=roads&type=seed')).toEqual([[4, 2], null]);
    expect(await idsOf(app, '?since=2027-01-01')).toEqual([[], null]);
  });

  it('the list of tasks counts all that match by state and outcome, however small the page', async () => {
    const app = createTaskApp();
    for (const layer of ['world', 'roads', 'world', 'world'])
      await app.tasks.create({ layer }, author('rosa'));
    app.tasks.set(1, { state: 'aborted', outcome: 'partial' });
    app.tasks.set(3, { state: 'done', outcome: 'ok' });
    const answer = await app.request('GET', '/api/v1/tasks?layer=world&limit=1');
    expect(JSON.parse(answer.text).counts).toEqual({
      state: { pending: 1, running: 0, paused: 0, done: 1, aborted: 1 },
      outcome: { ok: 1, partial: 1, failed: 0, stopped: 0 },
    });
    expect(await idsOf(app, '?outcome=partial&outcome=failed')).toEqual([[1], null]);
  });

  it('a task shows how it ended and how long it took', async () => {
    const app = createTaskApp();
    await app.tasks.create({ layer: 'world' }, author('rosa'));
    const shown = async () => JSON.parse((await app.request('GET', '/api/v1/tasks/1')).text);
    expect(await shown()).toMatchObject({ outcome: null, durationMs: null });
    app.tasks.set(1, { state: 'done', outcome: 'ok', startedAt: 1000, endedAt: 3500 });
    expect(await shown()).toMatchObject({ outcome: 'ok', durationMs: 2500 });
  });

  it.each(['?state=lost', '?limit=x', '?since=yesterday', '?type=grow', '?outcome=bad', '?stat=done'])(
    'the list of tasks refuses the filter %s',
    async (query) => {
      expect((await createTaskApp().request('GET', `/api/v1/tasks${query}`)).status).toBe(400);
    },
  );

  it.each(['/api/v1/tasks/1', '/api/v1/tasks/x', '/api/v1/tasks/-1'])(
    'no task exists at %s',
    async (path) => {
      expect((await createTaskApp().request('GET', path)).status).toBe(404);
    },
  );
});

describe('changing a task', () => {
  it('a task is paused, resumed and cancelled while that is possible', async () => {
    const app = createTaskApp();
    await app.tasks.create({ layer: 'world' }, author('rosa'));
    const stateAfter = async (action: string) => {
      const answer = await post(app, `/api/v1/tasks/1/${action}`);
      return answer.status === 200 ? JSON.parse(answer.text).state : answer.status;
    };
    expect(await stateAfter('resume')).toBe(409);
    expect(await stateAfter('pause')).toBe('paused');
    expect(await stateAfter('resume')).toBe('pending');
    expect(await stateAfter('cancel')).toBe('aborted');
    expect(await stateAfter('cancel')).toBe(409);
    expect(await stateAfter('pause')).toBe(409);
    expect(await stateAfter('retry')).toBe(409);
  });

  it('the failures of a task are retried in a new task', async () => {
    const app = createTaskApp();
    const { counters } = await app.tasks.create({ layer: 'world' }, author('rosa'));
    app.tasks.set(1, { state: 'done', counters: { ...counters, failed: 3 } });
    const answer = await post(app, '/api/v1/tasks/1/retry');
    expect(answer).toMatchObject({ status: 201, headers: { location: 'http://localhost/api/v1/tasks/2' } });
  });
});

describe('the events', () => {
  async function listening(app: TaskApp): Promise<string> {
    const { url, close } = await listen(app);
    closing.push(close);
    return url;
  }

  /** Reads the response until it contains the text, or ends. */
  async function readUntil(response: Response, text: string): Promise<string> {
    let seen = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      seen += decoder.decode(chunk as Uint8Array, { stream: true });
      if (seen.includes(text)) return seen;
    }
    return seen;
  }

  it('task events report every change from now on', async () => {
    const app = createTaskApp();
    const url = await listening(app);
    await app.tasks.create({ layer: 'roads' }, author('rosa'));
    const response = await fetch(`${url}/api/v1/events`);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const [seen] = await Promise.all([
      readUntil(response, 'id: 2\n'),
      app.tasks.create({ layer: 'world' }, author('rosa')),
    ]);
    expect(seen).toContain('event: task\ndata: {"id":2,"layer":"world","type":"seed","state":"pending"');
    expect(seen).not.toContain('roads');
  });

  it('task events go on after the last one seen', async () => {
    const app = createTaskApp();
    const url = await listening(app);
    for (const layer of ['world', 'roads', 'world']) await app.tasks.create({ layer }, author('rosa'));
    const response = await fetch(`${url}/api/v1/events`, { headers: { 'last-event-id': '1' } });
    const seen = await readUntil(response, 'id: 3\n');
    expect(seen.match(/^id: \d+$/gm)).toEqual(['id: 2', 'id: 3']);
  });

  it.each(['before', 'during'])('task events that begin %s a stop of the server end', async (moment) => {
    const app = createTaskApp();
    const url = await listening(app);
    if (moment === 'during') app.dispatcher.stop();
    const response = await fetch(`${url}/api/v1/events`, { signal: AbortSignal.timeout(5000) });
    app.dispatcher.stop();
    expect(await readUntil(response, 'never')).toContain('retry:');
  });

  it('task events with an invalid lastEventId are a 400', async () => {
    const app = createTaskApp();
    expect((await app.request('GET', '/api/v1/events?lastEventId=x')).status).toBe(400);
  });
});
