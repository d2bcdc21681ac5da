import { describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { createPostgresDatabase } from '../fixtures/shared-services.ts';
import { runTilewarden, temporaryFolder } from './server.ts';
import { openWms, startTaskServer, tilesOf } from './task-server.ts';

describe('tasks in PostgreSQL', () => {
  it('are done by worker processes, outlive a server that is killed, and can be stopped', async () => {
    const wms = await openWms();
    const args = ['--database', await createPostgresDatabase()];
    const first = await startTaskServer(wms, { args });
    wms.answer = { delayMs: 30 };
    const id = await first.start({ zoomStop: 4, threadCount: 4 });
    await eventually(
      'the seed is in the middle',
      () => wms.requests.length,
      (asked) => asked > 10,
    );
    expect(first.workers().length).toBeGreaterThan(0);
    const beside = await runTilewarden(['serve', '--port', '0', '--data', temporaryFolder(), ...args]);
    expect(beside.code).toBe(1);
    expect(beside.stderr).toContain('The database is in use by another Tilewarden server');
    await first.kill();

    // Another server might still do the killed one's work: only its silence says that nobody does.
    const expectedLog = /a worker has gone silent; its piece goes to another/;
    const second = await startTaskServer(wms, { data: first.data, args, expectedLog });
    const task = await second.over(id);
    expect(task).toMatchObject({ state: 'done', tilesTotal: 341, tilesProcessed: 341 });
    expect(await second.expectTiles(tilesOf(0, 4), { cache: 'HIT' })).toBe(341);
    const gone = await second.over(await second.start({ type: 'truncate', zoomStart: 4, zoomStop: 4 }));
    expect(gone).toMatchObject({ state: 'done', tilesProcessed: 256, counters: { removed: 256 } });

    wms.answer = 'hang';
    const hanging = await second.start({ zoomStart: 4, zoomStop: 6 });
    await eventually('the upstream hangs', () => wms.active);
    const form = 'application/x-www-form-urlencoded';
    expect((await second.request('POST', '/rest/seed', 'kill_all=all', form)).status).toBe(200);
    expect((await second.task(hanging)).state).toBe('aborted');
    await eventually(
      'the upstream is left alone',
      () => wms.active,
      (active) => active === 0,
    );
    await second.stop();
  });
});
