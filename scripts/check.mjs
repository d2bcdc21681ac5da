// npm run check: formatting, lint, types, doors, words, regular expressions and lines by room. Quick enough to run before every commit.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { checkBudget } from './budget.mjs';
import { ensurePackages } from './install.mjs';
import { root, runCommand, runNode, say, step, tool } from './steps.mjs';

/** For the compiler, which is written in Go: it collects garbage a quarter as often, and takes a tenth less processor. */
const RARE_COLLECTION = { GOGC: '400' };

/** How many steps passed and failed. All run, side by side, so that one run shows all faults. */
export async function check() {
  // The compiler in native code takes a quarter of the time; the other one is for tools that call it. Several threads
  // would do much of its work twice, and the other steps need the processors too.
  const tsc = [tool('typescript-native', 'tsc'), '--singleThreaded'];
  const steps = [
    ['Formatting and lint', [tool('@biomejs/biome', 'biome'), 'check', '--error-on-warnings', '.']],
    ['Types', [...tsc, '-p', 'tsconfig.json', ...incremental('types')]],
    [
      'Doors between the rooms',
      [tool('dependency-cruiser', 'depcruise'), 'src', 'packages', '--output-type', 'err-long'],
    ],
    ['Words', [join(root, 'scripts', 'words.mjs')]],
    ['Regular expressions', [join(root, 'scripts', 'patterns.mjs')]],
    ['Lines by room', [join(root, 'scripts', 'budget.mjs')]],
  ];
  if (existsSync(join(root, 'web', 'tsconfig.json'))) {
    steps.splice(2, 0, [
      'Types of the web pages',
      [...tsc, '-p', 'web', '--noEmit', ...incremental('web-types')],
    ]);
  }
  const results = await Promise.all(
    steps.map(([title, args]) => step(title, () => runNode(args, { quiet: true, env: RARE_COLLECTION }))),
  );
  say(checkBudget().output.split('\n', 1)[0]);
  const passed = results.filter(Boolean).length;
  return { passed, failed: steps.length - passed };
}

/** Unchanged files are not checked again. A run in CI is the only one in its folder. */
function incremental(name) {
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
