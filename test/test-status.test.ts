/** What npm test says and returns when something fails. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, inject, it } from 'vitest';
import { started } from '../scripts/steps.mjs';
import { needs } from './fixtures/needs.ts';
import { whenOver } from './fixtures/when-over.ts';

const RUN_TESTS = new URL('../scripts/test.mjs', import.meta.url);

/** Runs a file of test/failing as npm test runs its tests. */
async function runFailing(file: string) {
  const args = JSON.stringify(['--config=test/failing/vitest.config.ts', `test/failing/${file}`]);
  const program = `
    import { report, runTests } from '${RUN_TESTS}';
    const result = await runTests('failing', ${args});
    process.stdout.write(\`vitest's status is \${result.ok ? 0 : 1}\\n\`);
    report(result, { requireAll: true });`;
  const env = { ...process.env, TEST_SERVICES: inject('sharedServices') };
  const child = await started(spawn(process.execPath, ['--input-type=module', '-e', program], { env }));
  whenOver(() => child.kill('SIGTERM'));
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = await ended;
  return { status, lines: stdout.trimEnd().split('\n'), stderr };
}

it(
  'a failure in every kind of suite is counted, and is the status of the run',
  needs('chromium', 'mapserver', 's3'),
  async () => {
    const { status, lines, stderr } = await runFailing('every-kind.ts');
    expect({ status, lines }, stderr).toEqual({
      status: 1,
      lines: ["vitest's status is 1", '0 passed, 7 failed'],
    });
    // None because its service did not start.
    const reasons = stderr.match(/\w*Error\b.*/g) ?? [];
    expect(reasons.filter((reason) => !reason.includes('on purpose'))).toEqual([]);
  },
);

it('a failure outside any test is counted, and is the status of the run', async () => {
  const { status, lines, stderr } = await runFailing('outside-tests.ts');
  expect({ status, lines }, stderr).toEqual({
    status: 1,
    lines: ["vitest's status is 1", '1 passed, 1 failed'],
  });
});
