// npm test: installs, builds, checks, then runs every test. The last line counts the passed and failed ones.
// npm test -- src/domain: arguments are passed to vitest; the check is left out.
// npm test -- --require-all: tests that cannot run here are failures, as with CI=true.
// runTests, sumOf and report also serve the other scripts that run vitest.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { endWithNpm, requireNode, root, runNode, StepError, say, tool } from './steps.mjs';
import { ensureSystemPackages, systemPackages } from './system-packages.mjs';

const REQUIRE_ALL = '--require-all';

async function runAll() {
  try {
    return await prepareAndRun();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    say(error.message);
    return { passed: 0, failed: 1, leftOut: [] };
  }
}

async function prepareAndRun() {
  const { ensureNative, ensurePackages } = await import('./install.mjs');
  const chosen = argv.slice(2).filter((arg) => arg !== REQUIRE_ALL);
  const programs = ensureSystemPackages();
  await ensurePackages();
  const { ensureBuilt } = await import('./build.mjs');
  const { check } = await import('./check.mjs');
  // A selection of tests runs without the check; npm run check does it alone.
  const checking = chosen.length === 0 ? check() : null;
  const [checked] = await Promise.all([checking, ensureBuilt(), ensureNative(), programs]);
  return sumOf([checked, await runTests('npm', chosen)]);
}

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

if (argv[1] === fileURLToPath(import.meta.url)) {
  requireNode();
  endWithNpm();
  const requireAll = process.env.CI === 'true' || argv.includes(REQUIRE_ALL);
  report(await runAll(), { requireAll });
}
