import { describe, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { createPostgresDatabase } from '../fixtures/shared-services.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { runTilewarden } from './server.ts';
import { openWms, startTaskServer, tilesOf } from './task-server.ts';

describe('tasks in PostgreSQL', () => {
  it('tasks in PostgreSQL run in workers, survive a kill of the server, and can be stopped', async () => {
    const wms = await openWms();
    const args = ['--database', await createPostgresDatabase()];
    const first = await startTaskServer(wms, { args });
    wms.answer = (_, number) => (number < 3 ? 'good' : 'hang');
    const id = await first.start({ zoomStop: 3, threadCount: 4 });
    await eventually('the seed is in the middle', () => wms.active);
    expect(first.workers().length).toBeGreaterThan(0);
    const beside = (command: readonly string[]) =>
      runTilewarden([...command, '--data', temporaryFolder(), ...args]);
    for (const refused of await Promise.all([beside(['serve', '--port', '0']), beside(['worker'])])) {
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain('The database is in use by another Tilewarden server');
    }
    await first.kill();
    wms.answer = 'good';

    // Another server might still do the killed one's work: only the end of its lease shows that it is dead.
    const expectedLog = /a worker stopped responding; its piece goes to another/;
    const second = await startTaskServer(wms, { data: first.data, args, expectedLog });
    const task = await second.over(id);
    expect(task).toMatchObject({ state: 'done', tilesTotal: 85, tilesProcessed: 85 });
    expect(await second.expectTiles(tilesOf(0, 3), { cache: 'HIT' })).toBe(85);
    const gone = await second.over(await second.start({ type: 'truncate', zoomStart: 3, zoomStop: 3 }));
    expect(gone).toMatchObject({ state: 'done', tilesProcessed: 64, counters: { removed: 64 } });

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
