// npm run check: formatting, lint, types, doors, words and lines by room. Quick enough to run before every commit.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { checkBudget } from './budget.mjs';
import { ensurePackages } from './install.mjs';
import { root, runCommand, runNode, say, step, tool } from './steps.mjs';

/** For the compiler, which is written in Go: it collects garbage a quarter as often, and takes a tenth less processor. */
const COLLECT_SELDOM = { GOGC: '400' };

/** How many steps passed and failed. All run, side by side, so that one look shows everything that is wrong. */
export async function check() {
  // The compiler in native code takes a quarter of the time; the other one is there for tools that call it. Several threads
  // of it would do much of the work twice, and the other steps want the processors too.
  const tsc = [tool('typescript-native', 'tsc'), '--singleThreaded'];
  const steps = [
    ['Formatting and lint', [tool('@biomejs/biome', 'biome'), 'check', '--error-on-warnings', '.']],
    ['Types', [...tsc, '-p', 'tsconfig.json', ...remembering('types')]],
    [
      'Doors between the rooms',
      [tool('dependency-cruiser', 'depcruise'), 'src', 'packages', '--output-type', 'err-long'],
    ],
    ['Words', [join(root, 'scripts', 'words.mjs')]],
    ['Lines by room', [join(root, 'scripts', 'budget.mjs')]],
  ];
  if (existsSync(join(root, 'web', 'tsconfig.json'))) {
    steps.splice(2, 0, [
      'Types of the web pages',
      [...tsc, '-p', 'web', '--noEmit', ...remembering('web-types')],
    ]);
  }
  const results = await Promise.all(
    steps.map(([title, args]) => step(title, () => runNode(args, { quiet: true, env: COLLECT_SELDOM }))),
  );
  say(checkBudget().output.split('\n', 1)[0]);
  const passed = results.filter(Boolean).length;
  return { passed, failed: steps.length - passed };
}

/** What has not changed since the last time is not checked again. A run in CI is the only one in its folder. */
function remembering(name) {
  if (process.env.CI === 'true') return [];
  return ['--incremental', '--tsBuildInfoFile', join(root, '.build', `${name}.tsbuildinfo`)];
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  await runCommand(async () => {
    await ensurePackages();
    const { failed } = await check();
    process.exitCode = failed > 0 ? 1 : 0;
  });
}
