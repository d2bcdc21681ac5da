import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds. Linux counts in ticks of a hundredth of a second. */
const TICK = 10;
const LOOK_EVERY = 100;
const KIB = 1024;

interface ProcessLine {
  readonly parent: number;
  readonly milliseconds: number;
}

export interface ProcessUse {
  /** Of all processors. */
  readonly processorMs: number;
  /** The most that all of them held together; memory that they share counts once. */
  readonly peakBytes: number;
}

/** What the descendants of this process take while it runs, those included that end meanwhile. */
export class ProcessWatch {
  readonly #seen = new Map<number, { first: number; last: number }>();
  readonly #others: ReadonlySet<number>;
  readonly #timer: NodeJS.Timeout;
  #peakBytes = 0;

  constructor() {
    this.#others = new Set(descendants().keys());
    this.#timer = setInterval(() => this.#look(true), LOOK_EVERY);
  }

  /** Counts from now on, for programs whose start is not measured. */
  restart(): void {
    this.#seen.clear();
    this.#peakBytes = 0;
    this.#look(false);
  }

  stop(): ProcessUse {
    clearInterval(this.#timer);
    this.#look(true);
    const processorMs = [...this.#seen.values()].reduce((sum, { first, last }) => sum + last - first, 0);
    return { processorMs, peakBytes: this.#peakBytes };
  }

  #look(fromBirth: boolean): void {
    let bytes = 0;
    for (const [pid, milliseconds] of descendants()) {
      if (this.#others.has(pid)) continue;
      bytes += proportionalBytes(pid);
      const known = this.#seen.get(pid);
      if (known) known.last = milliseconds;
      else this.#seen.set(pid, { first: fromBirth ? 0 : milliseconds, last: milliseconds });
    }
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
  }
}

function descendants(): Map<number, number> {
  const lines = new Map<number, ProcessLine>();
  for (const name of readdirSync('/proc')) {
    const line = /^\d+$/.test(name) ? lineOf(name) : null;
    if (line) lines.set(Number(name), line);
  }
  const found = new Map<number, number>();
  for (const [pid, { milliseconds }] of lines) if (comesFrom(pid, lines)) found.set(pid, milliseconds);
  return found;
}

function lineOf(pid: string): ProcessLine | null {
  try {
    // After the name, which may hold anything, come the state and the parent; 12th and 13th are user and system time.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number);
    return { parent: fields[1] ?? 0, milliseconds: ((fields[11] ?? 0) + (fields[12] ?? 0)) * TICK };
  } catch {
    return null;
  }
}

function proportionalBytes(pid: number): number {
  try {
    const [, kib] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
    return Number(kib ?? 0) * KIB;
  } catch {
    return 0;
  }
}

function comesFrom(pid: number, lines: ReadonlyMap<number, ProcessLine>): boolean {
  for (let at = lines.get(pid)?.parent ?? 0; at > 1; at = lines.get(at)?.parent ?? 0) {
    if (at === process.pid) return true;
  }
  return false;
}
