// Installs packages of package-lock.json if some are missing: only those of a server, or those of checks and tests too.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { requiredStep, root, runNpm, StepError, step } from './steps.mjs';

/** Workspaces whose packages build and run a server; the workspace `test` has the others. */
const SERVER = ['', 'web'];

/**
 * SQLite's unused modules; without them it compiles in three quarters of the time. -O3 would take three times as long as
 * -O1 and make reads a tenth faster. Computing that one warning doubles gcc's time.
 */
const UNUSED = ['FTS3', 'FTS3_PARENTHESIS', 'FTS4', 'FTS5', 'GEOPOLY'];
const CFLAGS = ['-O1', '-Wno-misleading-indentation', ...UNUSED.map((name) => `-USQLITE_ENABLE_${name}`)];

export async function ensureInstalled() {
  await ensurePackages();
  await ensureNative();
}

/** Installs all packages without compiling any: enough to build and check. */
export async function ensurePackages() {
  await ensurePackagesOf([...SERVER, 'test'], []);
}

/** Leaves the packages of checks and tests as they are, installed or not. */
export async function ensureServerPackages() {
  await ensurePackagesOf(SERVER, ['--workspace=web', '--include-workspace-root']);
}

async function ensurePackagesOf(folders, selection) {
  const present = packagesOf(join(root, 'node_modules', '.package-lock.json'));
  const reason = reasonToInstall(folders, present);
  if (!reason) return;
  // `npm ci` would first remove everything, including the compiled database library.
  const command = present ? ['install', '--no-save'] : ['ci'];
  // A build needs the development packages even with NODE_ENV=production.
  const install = () => runNpm([...command, ...selection, '--include=dev', '--ignore-scripts']);
  await requiredStep(`Installing packages (${reason})`, install);
}

/**
 * Installs the binary of better-sqlite3, which is specific to a version of Node.js: its install script downloads it, or
 * compiles it on all processors if its release host has none or is unreachable.
 */
export async function ensureNative() {
  if (nativeProblem() === null) return;
  const env = { JOBS: 'max', CFLAGS: CFLAGS.join(' '), ...withOwnHeaders() };
  let missing = [];
  const rebuild = async () => {
    const { ok, output } = await runNpm(['rebuild', 'better-sqlite3'], { env, quiet: true });
    if (!ok) missing = missingTools();
    return { ok, output: missing.length > 0 ? '' : output };
  };
  const ok = await step('Building the database library', rebuild);
  if (missing.length > 0) throw new StepError(adviceFor(missing));
  if (!ok) throw new StepError('Building the database library failed.');
  const problem = nativeProblem();
  if (!problem) return;
  throw new StepError(
    `better-sqlite3 is installed but does not load: ${problem}\n` +
      'Its install script may have been held back. Try: npm rebuild better-sqlite3',
  );
}

/** Lets node-gyp use the headers of this Node.js; without these it would download them. */
function withOwnHeaders() {
  const folder = dirname(dirname(realpathSync(process.execPath)));
  const version = join(folder, 'include', 'node', 'node_version.h');
  if (process.env.npm_config_nodedir || !existsSync(version)) return {};
  const [major] = process.versions.node.split('.');
  const isOurs = readFileSync(version, 'utf8').includes(`#define NODE_MAJOR_VERSION ${major}\n`);
  return isOurs ? { npm_config_nodedir: folder } : {};
}

function missingTools() {
  const tools = [['python3'], ['make'], ['g++', 'c++', 'clang++']];
  const isMissing = (name) => spawnSync(name, ['--version']).error !== undefined;
  return tools.filter((names) => names.every(isMissing)).map(([name]) => name);
}

function adviceFor(missing) {
  const fault = `better-sqlite3 must be compiled, and this machine has no ${missing.join(' and no ')}.`;
  return `${fault} On Debian and Ubuntu: apt-get install python3 make g++`;
}

function reasonToInstall(folders, present) {
  if (!present) return 'nothing is installed yet';
  const packages = packagesOf(join(root, 'package-lock.json'));
  for (const path of packagesUsedBy(folders, packages)) {
    const [required, installed] = [packages[path], present[path]];
    if (!installed && required.optional) continue;
    if (!installed || installed.version !== required.version || installed.integrity !== required.integrity) {
      return `${path.replace(/^.*node_modules\//, '')} is missing or of another version`;
    }
  }
  return null;
}

/** Paths in node_modules of all packages that the workspaces use, directly or through other packages. */
function packagesUsedBy(folders, packages) {
  const used = new Set(folders);
  for (const path of used) {
    for (const name of namesUsedBy(packages[path])) {
      const place = placeOfPackage(name, path, packages);
      if (place) used.add(place);
    }
  }
  return [...used].filter((path) => !folders.includes(path));
}

function namesUsedBy({ peerDependencies = {}, peerDependenciesMeta = {}, ...entry }) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  const { dependencies, devDependencies, optionalDependencies } = entry;
  return [...peers, ...Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })];
}

/** Node.js's resolution: the node_modules of `path`, then those of the folders around it. Null if it is in none. */
function placeOfPackage(name, path, packages) {
  const place = join(path, 'node_modules', name).replaceAll('\\', '/');
  if (packages[place]) return place;
  if (path === '') return null;
  return placeOfPackage(name, path.slice(0, Math.max(0, path.lastIndexOf('/node_modules/'))), packages);
}

function packagesOf(lockFile) {
  return existsSync(lockFile) ? JSON.parse(readFileSync(lockFile, 'utf8')).packages : null;
}

/** Null if better-sqlite3 works with R-trees, which index marks. In a process of its own, because Node.js caches a failed load. */
function nativeProblem() {
  const program =
    "new (require('better-sqlite3'))(':memory:').exec('CREATE VIRTUAL TABLE t USING rtree_i32(id, a, b)').close()";
  const { status, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: root, encoding: 'utf8' });
  return status === 0 ? null : stderr;
}
