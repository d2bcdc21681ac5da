import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { eventually } from '../fixtures/eventually.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

// The build is up to date when tests run, so this is the quick way through the command.
it('npm start passes arguments, signals and the exit code on', async () => {
  const args = ['start', '--', '--port', '0', '--data', temporaryFolder()];
  const npm = await started(
    spawn('npm', args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: true }),
  );
  onTestFinished(() => {
    if (npm.exitCode === null && npm.pid !== undefined) process.kill(-npm.pid, 'SIGKILL');
  });
  let stdout = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  npm.stderr.resume();
  await eventually(
    'the server is ready',
    () => stdout,
    (text) => text.includes('Tilewarden is ready at'),
  );
  const url = /ready at (\S+)/.exec(stdout)?.[1];
  expect((await fetch(`${url}healthz`)).status).toBe(200);
  npm.kill('SIGTERM');
  const [code] = await once(npm, 'exit');
  expect(code).toBe(0);
  await expect(fetch(`${url}healthz`)).rejects.toThrow();
});
