import { readFileSync } from 'node:fs';

const LIMITS_FILE = '/proc/self/limits';
/** Of all the files that may be open, what connections may take. The rest is for tiles, the database and upstreams. */
const SHARE = 0.75;
const KEPT = 64;
const FEWEST = 32;

/** How many connections fit beside everything else that is opened. */
export function mostConnections(wanted: number, openFiles: number | null): number {
  if (openFiles === null) return wanted;
  return Math.min(wanted, Math.max(FEWEST, Math.floor(openFiles * SHARE) - KEPT));
}

/** How many files, sockets included, this process may have open; null where that is not known. */
export function openFilesLimit(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync(LIMITS_FILE, 'utf8'))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
