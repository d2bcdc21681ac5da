import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Removed when this process ends, even if it is interrupted. */
export function temporaryFolder(within = tmpdir()): string {
  const folder = mkdtempSync(join(within, 'tilewarden-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  return folder;
}

/** Of sorted or unsorted figures; the middle one by default. */
export function quantile(figures: readonly number[], share = 0.5): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
