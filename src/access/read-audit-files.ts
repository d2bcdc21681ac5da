import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type AuditEntry, readAuditLine } from './audit-entry.ts';

export interface AuditFilter {
  readonly actor?: string;
  readonly source?: string;
  /** Part of the action or of the path, e.g. `masstruncate`. */
  readonly text?: string;
  readonly target?: string;
  readonly outcome?: string;
  /** Milliseconds since 1970, inclusive. */
  readonly since?: number;
  /** Milliseconds since 1970, exclusive. */
  readonly until?: number;
  readonly limit: number;
}

/** The latest entries that fit, newest first. Begun changes are shown only where their end is missing. */
export async function readAuditFiles(
  path: string,
  keep: number,
  filter: AuditFilter,
): Promise<readonly AuditEntry[]> {
  const found: AuditEntry[] = [];
  const endedLater = new Set<string>();
  for (let number = 0; number <= keep && found.length < filter.limit; number++) {
    const file = number === 0 ? path : `${path}.${number}`;
    const latest = await readFile(file, filter, endedLater);
    found.push(...latest.reverse().slice(0, filter.limit - found.length));
  }
  return found;
}

/** Oldest first; at most as many as were asked for, the latest. */
async function readFile(file: string, filter: AuditFilter, endedLater: Set<string>): Promise<AuditEntry[]> {
  const begun = new Map<string, AuditEntry>();
  let ended: AuditEntry[] = [];
  for await (const entry of entriesOf(file)) {
    const { id, phase } = entry;
    if (phase === 'begun' && id !== null) {
      if (!endedLater.has(id)) begun.set(id, entry);
      continue;
    }
    if (id !== null && !begun.delete(id)) endedLater.add(id);
    if (fits(entry, filter)) ended.push(entry);
    if (ended.length > 2 * filter.limit) ended = ended.slice(-filter.limit);
  }
  const cutShort = [...begun.values()].filter((entry) => fits(entry, filter));
  return [...ended, ...cutShort].sort(byTime).slice(-filter.limit);
}

async function* entriesOf(file: string): AsyncGenerator<AuditEntry> {
  const lines = createInterface({
    input: createReadStream(file, 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  });
  try {
    for await (const line of lines) {
      const entry = readAuditLine(line);
      if (entry) yield entry;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Whether the entry is one of those that were asked for. */
export function fits(
  entry: AuditEntry,
  { actor, source, text, target, outcome, since, until }: AuditFilter,
): boolean {
  const time = Date.parse(entry.time);
  return (
    (actor === undefined || entry.actor === actor) &&
    (source === undefined || entry.source === source) &&
    (target === undefined || entry.target === target) &&
    (outcome === undefined || (entry.outcome ?? 'unknown') === outcome) &&
    (text === undefined || `${entry.action} ${entry.path ?? ''}`.includes(text)) &&
    (since === undefined || time >= since) &&
    (until === undefined || time < until)
  );
}

function byTime(one: AuditEntry, other: AuditEntry): number {
  return one.time < other.time ? -1 : Number(one.time > other.time);
}
