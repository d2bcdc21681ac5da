// Installs the packages of package-lock.json, only when they are not there already.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requiredStep, root, runNpm, StepError } from './steps.mjs';

export async function ensureInstalled() {
  await ensurePackages();
  await ensureNative();
}

/** All but what is compiled: building and checking can begin. */
export async function ensurePackages() {
  const reason = reasonToInstall();
  if (!reason) return;
  // Building needs the development packages whatever NODE_ENV says.
  const install = () => runNpm(['ci', '--include=dev', '--ignore-scripts']);
  await requiredStep(`Installing packages (${reason})`, install);
}

/** The one package that is built for a version of Node.js, which takes longer than all others together. */
export async function ensureNative() {
  if (isNativeThere()) return;
  // With every processor. -O3 takes three times as long as -O1, and a read then costs a tenth less. The one warning,
  // which is not shown, takes gcc as long as all the rest.
  const env = { JOBS: 'max', CFLAGS: '-O1 -Wno-misleading-indentation' };
  const rebuild = () => runNpm(['rebuild', 'better-sqlite3'], { env, quiet: true });
  await requiredStep('Building the database library', rebuild);
  const problem = nativeProblem();
  if (!problem) return;
  throw new StepError(
    `better-sqlite3 is installed but does not load: ${problem}\n` +
      'Its install script may have been held back. Try: npm rebuild better-sqlite3',
  );
}

export function isNativeThere() {
  return nativeProblem() === null;
}

function reasonToInstall() {
  const wanted = packagesOf(join(root, 'package-lock.json'));
  const present = packagesOf(join(root, 'node_modules', '.package-lock.json'));
  if (!present) return 'nothing is installed yet';
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.startsWith('node_modules/')) continue;
    const there = present[path];
    if (!there && entry.optional) continue;
    if (!there || there.version !== entry.version || there.integrity !== entry.integrity) {
      return `${path.replace(/^.*node_modules\//, '')} is missing or of another version`;
    }
  }
  return null;
}

function packagesOf(lockFile) {
  return existsSync(lockFile) ? JSON.parse(readFileSync(lockFile, 'utf8')).packages : null;
}

/** Null when it works. In a process of its own: one that could not be loaded here stays so. */
function nativeProblem() {
  const program = "new (require('better-sqlite3'))(':memory:').close()";
  const { status, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: root, encoding: 'utf8' });
  return status === 0 ? null : stderr;
}
