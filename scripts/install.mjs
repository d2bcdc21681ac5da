// Installs the packages of package-lock.json, only when they are not there already.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { requiredStep, root, runNpm, StepError } from './steps.mjs';

export async function ensureInstalled() {
  const reason = reasonToInstall();
  if (!reason) return;
  // Building needs the development packages whatever NODE_ENV says. JOBS: node-gyp compiles with every processor.
  const install = () => runNpm(['ci', '--include=dev'], { env: { JOBS: 'max' } });
  await requiredStep(`Installing packages (${reason})`, install);
  const problem = nativeProblem();
  if (!problem) return;
  throw new StepError(
    `better-sqlite3 is installed but does not load: ${problem}\n` +
      'Its install script may have been held back. Try: npm rebuild better-sqlite3',
  );
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
  return nativeProblem() ? 'the database library was built for another Node.js' : null;
}

function packagesOf(lockFile) {
  return existsSync(lockFile) ? JSON.parse(readFileSync(lockFile, 'utf8')).packages : null;
}

/** Loads the one package that is built for a version of Node.js; null when it works. */
function nativeProblem() {
  try {
    const Database = createRequire(join(root, 'package.json'))('better-sqlite3');
    new Database(':memory:').close();
    return null;
  } catch (error) {
    return error.message;
  }
}
