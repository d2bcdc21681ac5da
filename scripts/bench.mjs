// npm run bench: lists the benchmarks. npm run bench -- NAME [options] builds the server if it is out of date and runs one of them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { prepareServer } from './build.mjs';
import { ensurePackages } from './install.mjs';
import { endWithNpm, filesUnder, root, runCommand, say, started } from './steps.mjs';
import { openTestRun } from './test-run.mjs';

/** A benchmark is `bench/FOLDER/bench-NAME.ts`; its first line describes the measurement. */
function benchmarks() {
  const files = [...filesUnder(join(root, 'bench'))].filter((path) => /^bench-.*\.ts$/.test(basename(path)));
  return new Map(files.map((path) => [basename(path).replace(/^bench-(.*)\.ts$/, '$1'), path]).sort());
}

function list(all) {
  process.stdout.write('npm run bench -- NAME [options], where NAME is one of:\n\n');
  for (const [name, path] of all) {
    const [summary = ''] = readFileSync(path, 'utf8').split('\n', 1);
    process.stdout.write(`  ${name.padEnd(14)}${summary.replace(/^\/\/ /, '')}\n`);
  }
}

await runCommand(async () => {
  const [name, ...args] = process.argv.slice(2);
  const all = benchmarks();
  const path = all.get(name);
  if (path === undefined) {
    if (name !== undefined) say(`There is no benchmark "${name}".`);
    list(all);
    process.exitCode = name === undefined ? 0 : 1;
    return;
  }
  await ensurePackages();
  await prepareServer();
  endWithNpm();
  const endRun = await openTestRun(tmpdir());
  const typescript = ['--import', './scripts/typescript/register.mjs'];
  const child = await started(
    spawn(process.execPath, [...typescript, path, ...args], { cwd: root, stdio: 'inherit' }),
  );
  const [code] = await once(child, 'exit');
  await endRun();
  process.exitCode = code ?? 1;
});
