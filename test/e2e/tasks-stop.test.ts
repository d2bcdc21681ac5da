import { describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { LAYER, shareTaskServer } from './task-server.ts';

const FORM = 'application/x-www-form-urlencoded';

const shared = shareTaskServer({
  more: ({ url }) => `  - name: rivers\n    source: { type: wms, url: '${url}', layers: roads }\n`,
});

describe('stopping', () => {
  it('a stop of tasks returns immediately if the upstream hangs, and no tile is written later', async () => {
    const { wms, server } = shared;
    wms.answer = 'hang';
    const id = await server.start({ zoomStart: 3, zoomStop: 8, threadCount: 4 });
    await eventually(
      'four requests hang',
      () => wms.active,
      (active) => active === 4,
    );

    const response = await server.request('POST', `/rest/seed/${LAYER}`, 'kill_all=running', FORM);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/html');
    expect(await response.text()).toContain(`[${id}: ${LAYER}, seed, running]`);
    expect(await server.list()).toEqual([]);
    expect(await server.task(id)).toMatchObject({ state: 'aborted', reason: 'stopped by token:tests' });

    await eventually(
      'the upstream is left alone',
      () => wms.active,
      (active) => active === 0,
    );
    expect(wms.aborted).toBe(4);
    const asked = wms.requests.length;
    wms.answer = 'good';
    wms.release();
    // A second task, done by the same workers: the first one does not come back behind it.
    await server.over(await server.start({ zoomStop: 0 }));
    expect(wms.requests.length).toBe(asked + 1);
    const places = [3, 4, 5].map((z) => ({ z, x: 0, y: 0 }));
    expect(await server.expectTiles(places, { cache: 'MISS' })).toBe(3);
  });

  it('tasks can be stopped by state, by layer and by number', async () => {
    const { wms, server } = shared;
    wms.answer = 'hang';
    const first = await server.start({ zoomStart: 8, zoomStop: 9, threadCount: 64 });
    const second = await server.start({ zoomStart: 8, zoomStop: 9, threadCount: 64 });
    const ids = async () => (await server.list()).map((row) => row[3]);
    expect(await ids()).toEqual([first, second]);

    const kill = async (path: string, form: string) =>
      (await server.request('POST', `/rest/seed${path}`, form, FORM)).status;
    expect(await kill('/rivers', 'kill_all=all')).toBe(200);
    expect(await ids()).toEqual([first, second]);
    expect(await kill('/unknown', 'kill_all=all')).toBe(404);
    expect(await kill('', 'kill_all=everything')).toBe(400);
    // Its requests hang and hold every thread, so that the others wait.
    await eventually(
      'the first one runs',
      () => server.task(first),
      ({ state }) => state === 'running',
    );
    expect((await server.task(second)).state).toBe('pending');
    expect(await kill(`/${LAYER}`, 'kill_all=pending')).toBe(200);
    expect(await ids()).toEqual([first]);
    const [third, fourth] = [await server.start({ zoomStart: 8 }), await server.start({ zoomStart: 8 })];
    expect(await kill(`/${LAYER}`, `kill_thread=1&thread_id=${third}`)).toBe(200);
    expect(await ids()).toEqual([first, fourth]);
    expect(await kill('', 'kill_all=all')).toBe(200);
    expect(await ids()).toEqual([]);
  });
});

describe('fair turns', () => {
  it('a one-tile task created during a big seed is done first', async () => {
    const { wms, server } = shared;
    wms.answer = { delayMs: 20 };
    const big = await server.start({ zoomStart: 5, threadCount: 64 });
    await eventually(
      'the big one is under way',
      () => wms.requests.length,
      (asked) => asked > 40,
    );
    const small = await server.start({ zoomStop: 0 });
    expect(await server.over(small)).toMatchObject({ state: 'done', tilesProcessed: 1 });
    expect(await server.task(big)).toMatchObject({ state: 'running' });
  });
});
