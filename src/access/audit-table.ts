import type { Database } from '../db/database.ts';
import { type AuditEntry, type AuditFilter, fits, readAuditLine } from './audit-file.ts';

/** Rows read at a time, from the newest on. */
const SLICE = 500;
/** Rows that are kept, about as much as the files of a server; and how often too many are removed. */
const KEEP = 200_000;
const PRUNE_EVERY = 1000;

/** The audit log of all nodes that share a database. */
export function createAuditTable(database: Database) {
  let written = 0;

  async function prune(latest: number): Promise<void> {
    await database.transaction('audit', (query) =>
      query
        .deleteFrom('audit_entries')
        .where('id', '<', latest - KEEP)
        .execute(),
    );
  }

  return {
    /** Resolves when the lines are durable. */
    async append(lines: readonly string[], at: number): Promise<void> {
      const rows = await database.transaction(null, (query) =>
        query
          .insertInto('audit_entries')
          .values(lines.map((line) => ({ at, line })))
          .returning('id')
          .execute(),
      );
      written += lines.length;
      if (written < PRUNE_EVERY) return;
      written = 0;
      await prune(rows.at(-1)?.id ?? 0);
    },

    /** The latest entries that fit, newest first. Begun changes are shown only where their end is missing. */
    async read(filter: AuditFilter): Promise<readonly AuditEntry[]> {
      const found: AuditEntry[] = [];
      const ended = new Set<string>();
      for await (const entry of newestFirst(database)) {
        if (entry.phase === 'ended' && entry.id !== null) ended.add(entry.id);
        const shown = entry.phase === 'ended' || entry.id === null || !ended.has(entry.id);
        if (shown && fits(entry, filter)) found.push(entry);
        if (found.length >= filter.limit) break;
      }
      return found;
    },
  };
}

async function* newestFirst(database: Database): AsyncGenerator<AuditEntry> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await database.query
      .selectFrom('audit_entries')
      .select(['id', 'line'])
      .where('id', '<', before)
      .orderBy('id', 'desc')
      .limit(SLICE)
      .execute();
    for (const { line } of rows) {
      const entry = readAuditLine(line);
      if (entry) yield entry;
    }
    const last = rows.at(-1);
    if (!last || rows.length < SLICE) return;
    before = last.id;
  }
}
