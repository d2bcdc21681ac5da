// Runs vitest for npm test and its relatives, and reports how many tests passed, failed and were left out.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root, runNode, say, tool } from './steps.mjs';
import { systemPackages } from './system-packages.mjs';

/** Counts of the tests that `args` choose, and whether vitest's status was 0. `name` keeps reports of a process apart. */
export async function runTests(name, args, env = {}) {
  const report = join(root, '.build', `tests-${process.pid}-${name}.json`);
  mkdirSync(join(root, '.build'), { recursive: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const { ok } = await runNode([tool('vitest', 'vitest'), 'run', ...reporters, ...args], { env });
  const counts = countTests(report);
  // With a name pattern, vitest reports the other tests as skipped; they are not left out.
  if (args.some((arg) => /^(-t|--testNamePattern)/.test(arg))) counts.leftOut = [];
  rmSync(report, { force: true });
  // A run that failed outside any test (an unhandled rejection, a crash) is a failure too.
  return { ...counts, ok, failed: ok ? counts.failed : Math.max(counts.failed, 1) };
}

/** Sums the counts of runs and checks; results without counts are ignored. */
export function sumOf(results) {
  const counted = results.filter((result) => result?.passed !== undefined);
  return {
    passed: counted.reduce((sum, { passed }) => sum + passed, 0),
    failed: counted.reduce((sum, { failed }) => sum + failed, 0),
    leftOut: counted.flatMap(({ leftOut = [] }) => leftOut),
  };
}

/** Prints the closing lines and sets the exit status. With `requireAll` every test that was left out is a failure. */
export function report({ passed, failed, leftOut }, { requireAll }) {
  for (const line of leftOutLines(leftOut)) say(line);
  const allFailed = failed + (requireAll ? leftOut.length : 0);
  const skipped = leftOut.length > 0 && !requireAll ? `, ${leftOut.length} skipped` : '';
  process.stdout.write(`${passed} passed, ${allFailed} failed${skipped}\n`);
  process.exitCode = allFailed > 0 ? 1 : 0;
}

/** One line for each reason why tests were left out. */
export function leftOutLines(leftOut) {
  const byReason = new Map();
  for (const test of leftOut) {
    const reason = reasonOf(test);
    byReason.set(reason, [...(byReason.get(reason) ?? []), test.file]);
  }
  return [...byReason].map(([reason, files]) => {
    const count = `${files.length} ${files.length === 1 ? 'test' : 'tests'}`;
    return `Left out: ${count} in ${[...new Set(files)].sort().join(', ')}. ${reason}`;
  });
}

function reasonOf({ missing }) {
  if (missing.length === 0) return 'The tests themselves say that they do not run here.';
  const list = systemPackages();
  const packages = [...new Set(missing.flatMap((need) => list[need].packages))];
  return `Missing: ${missing.join(', ')}. On Debian: apt-get install ${packages.join(' ')}`;
}

function countTests(report) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return { passed: 0, failed: 1 };
  }
  const brokenFiles = results.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  return {
    passed: results.numPassedTests,
    failed: results.numFailedTests + brokenFiles.length,
    leftOut: results.testResults.flatMap(testsLeftOut),
  };
}

function testsLeftOut({ name, assertionResults }) {
  return assertionResults
    .filter(({ status }) => status !== 'passed' && status !== 'failed')
    .map(({ meta }) => ({ file: relative(root, name), missing: meta?.missing ?? [] }));
}
