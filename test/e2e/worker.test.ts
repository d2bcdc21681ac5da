import { describe, expect, it } from 'vitest';
import { createPostgresDatabase } from '../fixtures/shared-services.ts';
import { runTilewarden, startServer, temporaryFolder, writeConfig } from './server.ts';

describe('tilewarden worker', () => {
  it('says what it needs when it is told of no PostgreSQL, or to do nothing', async () => {
    const alone = await runTilewarden(['worker', '--data', temporaryFolder()]);
    expect(alone).toMatchObject({ code: 1, stdout: '' });
    expect(alone.stderr).toContain('name it with --database');
    const config = ['--config', writeConfig('tasks: { workers: 0 }')];
    const location = ['--database', 'postgres://nobody@127.0.0.1:1/none'];
    const idle = await runTilewarden(['worker', '--data', temporaryFolder(), ...config, ...location]);
    expect(idle).toMatchObject({ code: 1, stdout: '' });
    expect(idle.stderr).toContain('tasks.workers is 0');
  });

  it('is refused beside a server whose stores lie on its own machine', async () => {
    const database = ['--database', await createPostgresDatabase()];
    const server = await startServer({ args: [...database, '--node', 'first'] });
    const { authorization } = server;
    const answer = await fetch(`${server.url}/api/v1/nodes`, { headers: { authorization } });
    expect(await answer.json()).toMatchObject({
      nodes: [{ name: 'first', roles: ['serve', 'worker'], address: `${server.url}/` }],
    });
    const worker = await runTilewarden(['worker', '--data', temporaryFolder(), ...database]);
    expect(worker.code).toBe(1);
    expect(worker.stderr).toContain('The database is in use by another Tilewarden server');
    await server.stop();
  });
});
