import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { runTilewarden, writeConfig } from './server.ts';

describe('tilewarden worker', () => {
  it('tilewarden worker ends with a clear message without PostgreSQL or with zero workers', async () => {
    const alone = await runTilewarden(['worker', '--data', temporaryFolder()]);
    expect(alone).toMatchObject({ code: 1, stdout: '' });
    expect(alone.stderr).toContain('name it with --database');
    const config = ['--config', writeConfig('tasks: { workers: 0 }')];
    const location = ['--database', 'postgres://unknown@127.0.0.1:1/none'];
    const idle = await runTilewarden(['worker', '--data', temporaryFolder(), ...config, ...location]);
    expect(idle).toMatchObject({ code: 1, stdout: '' });
    expect(idle.stderr).toContain('tasks.workers is 0');
  });
});
