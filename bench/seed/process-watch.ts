import { readFileSync } from 'node:fs';

/** Milliseconds. Linux counts in ticks of a hundredth of a second. */
const TICK = 10;
/** Milliseconds. To look at a process of Node.js takes some milliseconds of a processor. */
const LOOK_EVERY = 500;
const KIB = 1024;

export interface ProcessUse {
  /** Of all processors. */
  readonly processorMs: number;
  /** The most that all of them held together; memory that they share counts once. */
  readonly peakBytes: number;
}

/** What the descendants of this process take while it runs, those included that end meanwhile; older ones do not count. */
export class ProcessWatch {
  readonly #others = new Set(descendants(process.pid));
  readonly #timer = setInterval(() => this.#look(), LOOK_EVERY);
  #before: ReadonlyMap<number, number> = new Map();
  #ended = timeOf(process.pid).ofEnded;
  #peakBytes = 0;

  /** Counts from now on, for programs whose start is not measured. */
  restart(): void {
    this.#before = new Map(this.#watched().map((pid) => [pid, timeOf(pid).own]));
    this.#ended = timeOf(process.pid).ofEnded;
    this.#peakBytes = 0;
  }

  stop(): ProcessUse {
    clearInterval(this.#timer);
    this.#look();
    const living = this.#watched().map((pid) => timeOf(pid).own - (this.#before.get(pid) ?? 0));
    const ended = timeOf(process.pid).ofEnded - this.#ended;
    return { processorMs: living.reduce((sum, ms) => sum + ms, ended), peakBytes: this.#peakBytes };
  }

  #watched(): number[] {
    return descendants(process.pid, this.#others);
  }

  #look(): void {
    const bytes = this.#watched().reduce((sum, pid) => sum + proportionalBytes(pid), 0);
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
  }
}

function descendants(pid: number, without: ReadonlySet<number> = new Set()): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
  return children
    .filter((child) => !without.has(child))
    .flatMap((child) => [child, ...descendants(child, without)]);
}

/** Milliseconds of a process, and of those that it has started and that have ended. */
function timeOf(pid: number): { readonly own: number; readonly ofEnded: number } {
  // After the name, which may hold anything, the 12th to 15th are the times of user and system, its own and theirs.
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
  return { own: (user + system) * TICK, ofEnded: (endedUser + endedSystem) * TICK };
}

function proportionalBytes(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * KIB;
}

/** Empty when the process has gone. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
