/** Other processes of this machine: their end, and their processor time and memory by /proc. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { started } from '../../scripts/steps.mjs';
import { findProgram } from '../../test/fixtures/needs.ts';

/** Milliseconds. Linux counts in ticks of a hundredth of a second. */
const TICK = 10;
/** The memory of a Node.js process takes some milliseconds of a processor to read. */
const POLL_MS = 500;
const KIB = 1024;

export function requireProgram(name: string, debianPackage = name): string {
  const path = findProgram(name);
  if (path === null) throw new Error(`${name} is missing (Debian: apt-get install ${debianPackage})`);
  return path;
}

/** A process that ends with this one. */
export async function spawnBeside(
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<ChildProcess> {
  const child = await started(spawn(program, args, options));
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  return child;
}

/** The same command line as this process, with another script. */
export function scriptArguments(script: URL, ...args: readonly string[]): string[] {
  return [...process.execArgv, fileURLToPath(script), ...args];
}

export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = once(child, 'exit');
  child.kill(signal);
  await end;
}

export function childrenOf(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
}

export function processorSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + timesOf(pid).own, 0) / 1000;
}

/** Bytes: `Rss` with all shared pages, `Pss` with this process's share of them. */
export function memoryOf(pid: number, kind: 'Rss' | 'Pss'): number {
  const [, kibibytes = 0] =
    new RegExp(`^${kind}:\\s+(\\d+)`, 'm').exec(read(`/proc/${pid}/smaps_rollup`)) ?? [];
  return Number(kibibytes) * KIB;
}

export interface ProcessUse {
  /** On all processors. */
  readonly processorMs: number;
  /** The peak of all together; shared memory counts once. */
  readonly peakBytes: number;
}

/** Measures the descendants of this process that start after it, including those that end before `stop`. */
export class ProcessWatch {
  readonly #others = new Set(descendants(process.pid));
  readonly #timer = setInterval(() => this.#look(), POLL_MS);
  #before: ReadonlyMap<number, number> = new Map();
  #endedMs = timesOf(process.pid).children;
  #peakBytes = 0;

  /** Counts from now on, for programs whose start is not measured. */
  restart(): void {
    this.#before = new Map(this.#watched().map((pid) => [pid, timesOf(pid).own]));
    this.#endedMs = timesOf(process.pid).children;
    this.#peakBytes = 0;
  }

  stop(): ProcessUse {
    clearInterval(this.#timer);
    this.#look();
    return { processorMs: this.processorMs(), peakBytes: this.#peakBytes };
  }

  /** On all processors, until now. */
  processorMs(): number {
    const living = this.#watched().map((pid) => timesOf(pid).own - (this.#before.get(pid) ?? 0));
    const endedMs = timesOf(process.pid).children - this.#endedMs;
    return living.reduce((sum, ms) => sum + ms, endedMs);
  }

  #watched(): number[] {
    return descendants(process.pid, this.#others);
  }

  #look(): void {
    const bytes = this.#watched().reduce((sum, pid) => sum + memoryOf(pid, 'Pss'), 0);
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
  }
}

function descendants(pid: number, without: ReadonlySet<number> = new Set()): number[] {
  return childrenOf(pid)
    .filter((child) => !without.has(child))
    .flatMap((child) => [child, ...descendants(child, without)]);
}

/** Milliseconds of a process, and of its children that have ended. */
function timesOf(pid: number): Readonly<Record<'own' | 'children', number>> {
  // The name before the last parenthesis may contain anything. The 12th to 15th fields after it are user and system time.
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
  return { own: (user + system) * TICK, children: (endedUser + endedSystem) * TICK };
}

/** Empty after the end of the process. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
