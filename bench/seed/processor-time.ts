import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds. Linux counts in ticks of a hundredth of a second. */
const TICK = 10;
const LOOK_EVERY = 50;

interface ProcessLine {
  readonly parent: number;
  readonly milliseconds: number;
}

/** Adds up what the descendants of this process take of the processors, also of those that end meanwhile. */
export class ProcessorTime {
  readonly #seen = new Map<number, { first: number; last: number }>();
  readonly #others: ReadonlySet<number>;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#others = new Set(descendants().keys());
    this.#timer = setInterval(() => this.#look(true), LOOK_EVERY);
  }

  /** Counts from now on, for programs whose start is not measured. */
  restart(): void {
    this.#seen.clear();
    this.#look(false);
  }

  /** Milliseconds. */
  stop(): number {
    clearInterval(this.#timer);
    this.#look(true);
    return [...this.#seen.values()].reduce((sum, { first, last }) => sum + last - first, 0);
  }

  #look(fromBirth: boolean): void {
    for (const [pid, milliseconds] of descendants()) {
      if (this.#others.has(pid)) continue;
      const known = this.#seen.get(pid);
      if (known) known.last = milliseconds;
      else this.#seen.set(pid, { first: fromBirth ? 0 : milliseconds, last: milliseconds });
    }
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

function comesFrom(pid: number, lines: ReadonlyMap<number, ProcessLine>): boolean {
  for (let at = lines.get(pid)?.parent ?? 0; at > 1; at = lines.get(at)?.parent ?? 0) {
    if (at === process.pid) return true;
  }
  return false;
}
