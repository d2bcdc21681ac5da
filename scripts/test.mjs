// npm test: installs, builds, checks, then runs every test. The last line says how many passed and failed.
// Arguments go to vitest, and leave the check out: npm test -- src/domain
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireNode, root, runNode, StepError, say, tool } from './steps.mjs';

/** Rooms that know no database: their tests begin while its library is being compiled, which uses one processor. */
const WITHOUT_DATABASE = [
  ...['src/domain', 'src/lib', 'src/raster', 'src/pipeline', 'src/http/wire'],
  ...['src/sources/layer', 'src/sources/upstream', 'src/sources/wms', 'src/sources/world', 'src/sources/xyz'],
];

/** Where Linux keeps files in memory, and the bytes that must be free there. */
const [MEMORY_FILES, ROOM_FOR_TESTS] = ['/dev/shm', 4 * 2 ** 30];

requireNode();
// Ctrl-C reaches the tests too; when they have ended, what they have written is removed.
process.on('SIGINT', () => {});
const total = await runAll();
process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed > 0 ? 1 : 0;

async function runAll() {
  try {
    return await prepareAndRun();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    say(error.message);
    return { passed: 0, failed: 1 };
  }
}

async function prepareAndRun() {
  const { ensureNative, ensurePackages, isNativeThere } = await import('./install.mjs');
  const { ensureSystemPackages } = await import('./system-packages.mjs');
  const chosen = process.argv.slice(2);
  const isWhole = chosen.length === 0;
  const programs = isWhole ? ensureSystemPackages() : null;
  await ensurePackages();
  const { ensureBuilt, ensureCompiled } = await import('./build.mjs');
  const { check } = await import('./check.mjs');
  const building = ensureBuilt();
  const isCompiling = isWhole && !isNativeThere();
  const first = isCompiling
    ? building.then(() => runTests('first', ['--maxWorkers=1', ...WITHOUT_DATABASE]))
    : null;
  // Some of the tests come without the check, which npm run check does.
  const checking = isWhole ? check() : null;
  const [checked] = await Promise.all([checking, building, ensureNative(), programs]);
  await ensureCompiled();
  const left = isCompiling ? WITHOUT_DATABASE.map((room) => `--exclude=${room}/**`) : chosen;
  return sumOf([checked, ...(await Promise.all([first, runTests('rest', left)]))]);
}

function sumOf(results) {
  const counted = results.filter((result) => result?.passed !== undefined);
  return {
    passed: counted.reduce((sum, { passed }) => sum + passed, 0),
    failed: counted.reduce((sum, { failed }) => sum + failed, 0),
  };
}

async function runTests(name, args) {
  const report = join(root, '.build', `tests-${process.pid}-${name}.json`);
  mkdirSync(join(root, '.build'), { recursive: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const TMPDIR = temporaryFolder();
  const { ok } = await runNode([tool('vitest', 'vitest'), 'run', ...reporters, ...args], { env: { TMPDIR } });
  rmSync(TMPDIR, { recursive: true, force: true, maxRetries: 5 });
  const counts = countTests(report);
  rmSync(report, { force: true });
  // A run that failed outside any test (an unhandled rejection, a crash) is a failure too.
  return ok || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

/** What tests write is soon removed again: on no disk, where there is the choice, which takes a twentieth less processor. */
function temporaryFolder() {
  const folder = mkdtempSync(join(hasRoomInMemory() ? MEMORY_FILES : tmpdir(), 'tilewarden-tests-'));
  // PostgreSQL does not run as root, and its user must reach its files.
  chmodSync(folder, 0o755);
  return folder;
}

function hasRoomInMemory() {
  if (process.env.TMPDIR || !existsSync(MEMORY_FILES)) return false;
  const { bavail, bsize } = statfsSync(MEMORY_FILES);
  return bavail * bsize >= ROOM_FOR_TESTS;
}

function countTests(report) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return { passed: 0, failed: 1 };
  }
  const leftOut = results.testResults.flatMap((file) =>
    file.assertionResults.filter((test) => test.status !== 'passed' && test.status !== 'failed'),
  );
  for (const test of leftOut) say(`left out: ${test.fullName}`);
  const brokenFiles = results.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  const countLeftOut = process.env.CI === 'true' ? leftOut.length : 0;
  return {
    passed: results.numPassedTests,
    failed: results.numFailedTests + brokenFiles.length + countLeftOut,
  };
}
