import { describe, expect, it, vi } from 'vitest';
import { eventually } from './server.ts';
import { LAYER, openWms, startTaskServer } from './task-server.ts';

vi.setConfig({ testTimeout: 180_000 });

const FORM = 'application/x-www-form-urlencoded';

describe('stopping', () => {
  it('answers at once although the upstream hangs, and nothing of the task is written afterwards', async () => {
    const wms = await openWms();
    const server = await startTaskServer(wms);
    wms.answer = 'hang';
    const id = await server.start({ zoomStart: 3, zoomStop: 8, threadCount: 4 });
    await eventually('four requests hang', () => wms.active === 4, 30_000);

    const response = await server.request('POST', `/rest/seed/${LAYER}`, 'kill_all=running', FORM);
    const killedAt = performance.now();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/html');
    expect(await response.text()).toContain(`[${id}: ${LAYER}, seed, running]`);
    expect(await server.list()).toEqual([]);
    expect(await server.task(id)).toMatchObject({ state: 'aborted', reason: 'stopped by admin' });

    await eventually('the upstream is left alone', () => wms.active === 0, 2000);
    expect(performance.now() - killedAt).toBeLessThan(2500);
    expect(wms.aborted).toBe(4);
    const asked = wms.requests.length;
    wms.answer = 'good';
    wms.release();
    // A second task, done by the same workers: the first one does not come back behind it.
    await server.over(await server.start({ zoomStop: 0 }));
    expect(wms.requests.length).toBe(asked + 1);
    const places = [3, 4, 5].map((z) => ({ z, x: 0, y: 0 }));
    expect(await server.expectTiles(places, { cache: 'MISS' })).toBe(3);
    await server.stop();
  });

  it('knows pending from running tasks, one layer from all, and a single one by its number', async () => {
    const wms = await openWms();
    const other = `  - name: rivers\n    source: { type: wms, url: '${wms.url}', layers: roads }\n`;
    const server = await startTaskServer(wms, { layers: other });
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
      async () => (await server.task(first)).state === 'running',
      30_000,
    );
    expect((await server.task(second)).state).toBe('pending');
    expect(await kill(`/${LAYER}`, 'kill_all=pending')).toBe(200);
    expect(await ids()).toEqual([first]);
    const [third, fourth] = [await server.start({ zoomStart: 8 }), await server.start({ zoomStart: 8 })];
    expect(await kill(`/${LAYER}`, `kill_thread=1&thread_id=${third}`)).toBe(200);
    expect(await ids()).toEqual([first, fourth]);
    expect(await kill('', 'kill_all=all')).toBe(200);
    expect(await ids()).toEqual([]);
    await server.stop();
  });
});

describe('fair turns', () => {
  it('a one-tile task handed in during a big seed is done within five seconds', async () => {
    const wms = await openWms();
    const server = await startTaskServer(wms);
    wms.answer = { delayMs: 20 };
    const big = await server.start({ zoomStart: 5, threadCount: 64 });
    await eventually('the big one is under way', () => wms.requests.length > 40, 30_000);
    const startedAt = performance.now();
    const small = await server.start({ zoomStop: 0 });
    expect(await server.over(small, 5000)).toMatchObject({ state: 'done', tilesProcessed: 1 });
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(await server.task(big)).toMatchObject({ state: 'running' });
    await server.stop();
  });
});
