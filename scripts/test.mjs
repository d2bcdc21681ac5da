// npm test: installs, builds, checks, then runs every test. The last line counts the passed and failed ones.
// npm test -- src/domain: arguments are passed to vitest; the check is left out.
// npm test -- --require-all: tests that cannot run here are failures, as with CI=true.
import { endWithNpm } from './end-with-npm.mjs';
import { report, runTests, sumOf } from './run-tests.mjs';
import { requireNode, StepError, say } from './steps.mjs';

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
  const { ensureNative, ensurePackages } = await import('./install.mjs');
  const { ensureSystemPackages } = await import('./system-packages.mjs');
  const chosen = process.argv.slice(2).filter((arg) => arg !== REQUIRE_ALL);
  const programs = ensureSystemPackages();
  await ensurePackages();
  const { ensureBuilt } = await import('./build.mjs');
  const { check } = await import('./check.mjs');
  // A selection of tests runs without the check; npm run check does it alone.
  const checking = chosen.length === 0 ? check() : null;
  const [checked] = await Promise.all([checking, ensureBuilt(), ensureNative(), programs]);
  return sumOf([checked, await runTests('npm', chosen)]);
}
