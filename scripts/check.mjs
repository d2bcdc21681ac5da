// npm run check: formatting, lint, types, imports between rooms (doors), words, regular expressions and lines by room.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { checkBudget } from './budget.mjs';
import { ensurePackages } from './install.mjs';
import { root, runCommand, runNode, say, step, tool } from './steps.mjs';

/** For the type checker, which is written in Go: rarer garbage collection saves a tenth of its processor time. */
const RARE_COLLECTION = { GOGC: '400' };

/** Runs all steps concurrently, even after a failure, so that one run shows all faults. Returns their counts. */
export async function check() {
  // The native compiler takes a quarter of the time of `typescript`, which tools need. With several threads it would
  // repeat much of its work, and the other steps need the processors.
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

/** Options to check only changed files again; of no use in CI, where each run has a new folder. */
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
