// npm run test:mutants [-- src/tasks …]: puts the faults of mutants.mjs, or those of the named files, one by one into a copy
// of this checkout and runs the tests that must notice. Prints a table; fails if a fault survives or its line is gone.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyCheckout } from './copy-checkout.mjs';
import { MUTANTS } from './mutants.mjs';
import { endWithNpm, root, runCommand, StepError, say, started } from './steps.mjs';

const checkout = join(root, '.build', 'mutants', 'checkout');
const report = join(root, '.build', 'mutants', 'report.json');

endWithNpm();
await runCommand(async () => {
  const chosen = process.argv.slice(2);
  const mutants = MUTANTS.filter(
    ({ file }) => chosen.length === 0 || chosen.some((part) => file.includes(part)),
  );
  copyCheckout(checkout);
  const packages = join(checkout, 'node_modules');
  if (!existsSync(packages)) symlinkSync(join(root, 'node_modules'), packages);
  await requireSoundTests([...new Set(mutants.flatMap(({ tests }) => tests))]);
  const rows = [];
  for (const mutant of mutants) {
    const result = await resultOf(mutant);
    say(`${rows.length + 1}/${mutants.length} ${result}: ${mutant.file}`);
    rows.push({ ...mutant, result });
  }
  process.stdout.write(tableOf(rows));
  process.exitCode = rows.every(({ result }) => result === 'caught') ? 0 : 1;
});

/** A test that already fails without a fault would prove nothing. */
async function requireSoundTests(tests) {
  const { failed, ok } = await runTests(tests);
  if (!ok) throw new StepError(`Without a fault the tests fail: ${failed.join('; ') || 'see above'}`);
}

async function resultOf({ file, line, fault, tests }) {
  const path = join(checkout, file);
  const code = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const count = code.split(line).length - 1;
  if (count !== 1) return `its line exists ${count} times`;
  writeFileSync(
    path,
    code.replace(line, () => fault),
  );
  try {
    const { ok, failed } = await runTests(tests, ['--bail=1', '--testTimeout=120000']);
    if (failed.length > 0) return 'caught';
    return ok ? 'SURVIVED' : 'broken: no test ran';
  } finally {
    writeFileSync(path, code);
  }
}

async function runTests(tests, more = []) {
  mkdirSync(join(root, '.build', 'mutants'), { recursive: true });
  rmSync(report, { force: true });
  const vitest = join('node_modules', 'vitest', 'vitest.mjs');
  const args = [vitest, 'run', '--reporter=json', `--outputFile.json=${report}`, ...more, ...tests];
  const child = await started(
    spawn(process.execPath, args, {
      cwd: checkout,
      env: { ...process.env, TEST_MUTANT: '1' },
      stdio: 'ignore',
    }),
  );
  const [status] = await once(child, 'close');
  const files = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
  const failed = files.flatMap(({ assertionResults }) =>
    assertionResults.filter((test) => test.status === 'failed'),
  );
  return { ok: status === 0 && files.length > 0, failed: failed.map(({ fullName }) => fullName) };
}

function tableOf(rows) {
  const lines = rows.map(({ file, line, fault, result }) => {
    const cell = (code) => (code === '' ? 'removed' : `\`${code.replaceAll('|', '\\|')}\``);
    return `| ${file.replace(/^src\//, '')} | ${cell(line)} | ${cell(fault)} | ${result} |`;
  });
  return ['| file | line | fault | result |', '| --- | --- | --- | --- |', ...lines, ''].join('\n');
}
