// npm run test:long: floods, kill loops, scenarios and random models in their long form; npm test runs a short one.
// Arguments select files: npm run test:long -- test/faults. TEST_SEED=… repeats a run that failed.
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { endWithNpm, runCommand, say } from './steps.mjs';
import { report, runTests, sumOf } from './test.mjs';

/** File or folder, minutes on two idle processors (estimated, except for node-chaos), and description. */
const PARTS = [
  ['test/faults/kill-loop.test.ts', 8, 'a hundred kills of servers and workers while they seed'],
  ['test/faults/ledger-loop.test.ts', 30, 'a thousand kills of a process that writes and evicts'],
  [
    'test/faults/node-chaos.test.ts',
    65,
    'fifty runs of three nodes under load while everything around them breaks',
  ],
  ['test/faults/stopped-node.test.ts', 25, 'a hundred stops of a node while layers change'],
  ['src/removal/', 20, 'thousands of random histories of removals'],
  ['src/quota/', 2, 'hundreds of random histories of quotas'],
  ['test/security/mutated-requests.test.ts', 12, 'a hundred thousand mutated requests'],
  ['test/security/front.test.ts', 8, 'a million requests to the front for tiles and to node:http alone'],
  ['test/security/mutated-bodies.test.ts', 8, 'three hundred slips in the body of every changing route'],
  ['test/security/scanners.test.ts', 3, 'every scanner of foreign text at full length'],
  ['test/security/hostile-bodies.test.ts', 2, 'every hostile body on every path in every type'],
  ['test/security/policy-matrix.test.ts', 1, 'every caller with every method on every path'],
  ['test/security/login-flood.test.ts', 2, 'five thousand wrong logins'],
  ['test/security/slow-connections.test.ts', 1, 'four thousand slow connections'],
  ['test/e2e/changes-postgis.test.ts', 2, 'four hundred edits in PostGIS, with kills of node and database'],
  ['test/e2e/console-typos.test.ts', 1, 'every typo in every field of the console'],
  ['test/e2e/stop-under-load.test.ts', 4, 'a hundred stops under load'],
  ['test/scenarios/limits.test.ts', 5, 'limits, hanging upstreams and their return with whole servers'],
  ['src/tasks/', 4, 'two thousand random histories of tasks, a thousand random plans'],
  ['packages/pixels/', 2, 'thousands of random pictures, whole and damaged'],
  ['src/raster/', 1, 'a thousand random pictures in every format'],
  ['src/pipeline/warp-error.test.ts', 10, 'ten thousand random maps in twenty other CRS'],
  ['src/pipeline/races.test.ts', 1, 'two thousand random races of readers and truncations'],
  ['src/storage/', 4, 'random histories of every store, and of processes that write to the same bundles'],
  ['src/geowebcache/read-document.test.ts', 1, 'twenty thousand random documents'],
];

endWithNpm();
const chosen = process.argv.slice(2);
const parts = PARTS.filter(([file]) => chosen.length === 0 || chosen.some((part) => file.includes(part)));
const strangers = chosen.filter((part) => !PARTS.some(([file]) => file.includes(part)));
if (strangers.length > 0) {
  say(
    `No long test has ${strangers.join(' or ')} in its name; there are:\n${PARTS.map(([file]) => `  ${file}`).join('\n')}`,
  );
  process.exit(1);
}
say(`The long tests take about ${parts.reduce((sum, [, minutes]) => sum + minutes, 0)} minutes:`);
for (const [file, minutes, what] of parts) say(`  ${String(minutes).padStart(2)} min  ${what} (${file})`);
await runCommand(async () => {
  await ensureInstalled();
  await ensureBuilt();
  // One at a time: each loads the machine enough by itself.
  const args = ['--maxWorkers=1', '--reporter=verbose', ...parts.map(([file]) => file)];
  const result = await runTests('long', args, { TEST_LENGTH: 'long' });
  report(sumOf([result]), { requireAll: process.env.CI === 'true' });
});
