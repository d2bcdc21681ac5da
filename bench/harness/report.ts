import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Figures of different machines, or of a busy one, are not compared. */
export function sayMachine(): void {
  const [first, ...others] = cpus();
  const load = loadavg().map((figure) => figure.toFixed(1));
  say(
    `${arch()} (${first?.model.trim() ?? 'unknown'}), ${others.length + 1} cores, Node.js ${process.version}, load ${load.join(' ')}`,
  );
}

/** Below TMPDIR, readable by servers that run as another user; removed when this process ends, even by a signal. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-bench-'));
  chmodSync(folder, 0o755);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  return folder;
}

/** The median by default. */
export function quantile(figures: readonly number[], share = 0.5): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}

/** Prints a figure beside its limit; one above it makes the benchmark fail. */
export function judge(name: string, figure: number, limit: number, unit: string): void {
  const isWithin = figure <= limit;
  say(`${name}: ${figure.toFixed(1)} ${unit} (${isWithin ? 'within' : 'ABOVE'} ${limit})`);
  if (!isWithin) process.exitCode = 1;
}
