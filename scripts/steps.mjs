// What the other scripts share. It is loaded before packages are installed, so it imports Node.js's modules only.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const MIN_NODE = [20, 19];

export class StepError extends Error {}

export function say(line) {
  process.stderr.write(`${line}\n`);
}

export function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1])) return;
  say(`Tilewarden needs Node.js ${MIN_NODE.join('.')} or later; this is ${process.versions.node}.`);
  say('Install a current one from https://nodejs.org/ and run the command again.');
  process.exit(1);
}

/** Runs a command of package.json. When a step fails, its message is the last line and the exit code is 1. */
export async function runCommand(work) {
  requireNode();
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    say(error.message);
    process.exit(1);
  }
}

const PARENT_INTERVAL_MS = 500;

/** Ends this process when the npm or script that started it has ended, even if killed: no reader of its result is left. */
export function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, PARENT_INTERVAL_MS);
  timer.unref();
}

/** Waits for both even when one fails, so that the message of the failure is the last line. */
export async function bothOf(one, other) {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const hasGroups = process.platform !== 'win32';
/** Child processes that are running. */
const running = new Set();
/** Set by the first signal, after which no program is started. */
let exitStatus = null;

/**
 * Runs a program in the project's folder, with its output on stderr or, if `quiet`, collected. Never rejects. It leads a
 * process group, to which the signals that this process receives are forwarded.
 */
export function run(command, args, { quiet = false, env = {} } = {}) {
  return new Promise((resolve) => {
    if (exitStatus !== null) return;
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 2, 2],
      detached: hasGroups,
    });
    forwardSignals(child);
    const chunks = [];
    child.stdout?.on('data', (chunk) => chunks.push(chunk));
    child.stderr?.on('data', (chunk) => chunks.push(chunk));
    child.on('error', (error) => resolve({ ok: false, output: error.message }));
    child.on('close', (code) => resolve({ ok: code === 0, output: Buffer.concat(chunks).toString() }));
  });
}

/**
 * Resolves to the child process of `spawn` or `fork` once its program runs. Rejects if the program cannot be started:
 * an `error` event without a listener would end this process.
 *
 *   const child = await started(spawn('nginx', args));
 */
export async function started(child) {
  // A write to a child that has ended, or never ran, emits `error` here. Callers detect the end by `exit`.
  child.stdin?.on('error', () => {});
  await once(child, 'spawn');
  child.on('error', (error) => process.stderr.write(`Process ${child.pid}: ${error.message}\n`));
  return child;
}

function forwardSignals(child) {
  if (running.size === 0) for (const signal of SIGNALS) process.on(signal, endRunning);
  running.add(child);
  child.once('close', () => {
    running.delete(child);
    if (running.size > 0) return;
    for (const signal of SIGNALS) process.off(signal, endRunning);
    if (exitStatus !== null) process.exit(exitStatus);
  });
}

function endRunning(signal, number) {
  exitStatus = 128 + number;
  for (const { pid } of running) {
    try {
      process.kill(hasGroups ? -pid : pid, signal);
    } catch {
      // It has ended in the meantime.
    }
  }
}

export function runNode(args, options) {
  return run(process.execPath, args, options);
}

/** Runs the npm that started this script, not another version that may be on the machine. */
export function runNpm(args, options) {
  const npm = process.env.npm_execpath;
  if (npm && /\.c?js$/.test(npm)) return runNode([npm, ...args], options);
  return run(process.platform === 'win32' ? 'npm.cmd' : 'npm', args, options);
}

/** The entry point of a tool that a package brings, e.g. tool('typescript', 'tsc'). */
export function tool(packageName, name) {
  const folder = join(root, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, typeof bin === 'string' ? bin : bin[name]);
}

/** Prints the title and the time of a step; prints a quiet step's output only when it fails. */
export async function step(title, work) {
  const start = performance.now();
  say(`… ${title}`);
  const { ok, output } = await work();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (!ok && output) say(output.trimEnd());
  say(`${ok ? '✓' : '✗'} ${title} (${seconds} s)`);
  return ok;
}

export async function requiredStep(title, work) {
  if (!(await step(title, work))) throw new StepError(`${title} failed.`);
}

/** A digest of the names and contents of files and folders. */
export function digestOf(paths, ignore = () => false) {
  const hash = createHash('sha256');
  for (const path of paths) {
    for (const file of filesUnder(join(root, path), ignore)) {
      hash.update(`${relative(root, file)}\0`);
      hash.update(readFileSync(file));
    }
  }
  return hash.digest('hex');
}

export function* filesUnder(path, ignore = () => false) {
  if (!existsSync(path) || ignore(path)) return;
  if (!statSync(path).isDirectory()) {
    yield path;
    return;
  }
  for (const name of readdirSync(path).sort()) yield* filesUnder(join(path, name), ignore);
}
