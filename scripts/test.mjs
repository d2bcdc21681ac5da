// npm test: installs, builds, checks, then runs every test. The last line says how many passed and failed.
// Arguments go to vitest, and leave the check out: npm test -- src/domain
// npm test -- --require-all: tests that cannot run here are failures, as with CI=true.
import { endWithNpm } from './end-with-npm.mjs';
import { report, runTests, sumOf } from './run-tests.mjs';
import { requireNode, StepError, say } from './steps.mjs';

/**
 * Rooms that know no database: their tests begin while its library is being compiled, which uses one processor. Nor do they
 * need a program that may be being installed.
 */
const WITHOUT_DATABASE = [
  ...['src/domain/', 'src/lib/', 'src/raster/', 'packages/'],
  ...['src/sources/layer/', 'src/sources/wms/', 'src/sources/world/', 'src/sources/xyz/'],
];

const REQUIRE_ALL = '--require-all';

requireNode();
endWithNpm();
const requireAll = process.env.CI === 'true' || process.argv.includes(REQUIRE_ALL);
report(await runAll(), { requireAll });

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
  const { ensureNative, ensurePackages, isNativeThere } = await import('./install.mjs');
  const { ensureSystemPackages } = await import('./system-packages.mjs');
  const chosen = process.argv.slice(2).filter((arg) => arg !== REQUIRE_ALL);
  const isWhole = chosen.length === 0;
  const programs = ensureSystemPackages();
  await ensurePackages();
  const { ensureBuilt } = await import('./build.mjs');
  const { check } = await import('./check.mjs');
  const building = ensureBuilt();
  const isCompiling = isWhole && !isNativeThere();
  const first = isCompiling
    ? building.then(() => runTests('first', ['--maxWorkers=1', ...WITHOUT_DATABASE]))
    : null;
  // Some of the tests come without the check, which npm run check does.
  const checking = isWhole ? check() : null;
  await Promise.all([checking, building, ensureNative()]);
  const left = isCompiling ? WITHOUT_DATABASE.map((room) => `--exclude=${room}**`) : chosen;
  return sumOf(await Promise.all([checking, first, runTests('rest', left), programs]));
}
