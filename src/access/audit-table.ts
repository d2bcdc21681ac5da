import type { Database } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';

/** Where the entries of the audit log are, each a line that ends with a newline. */
export interface AuditLines {
  /** Takes ahead what is needed to write when there is no room. */
  prepare(): Promise<void>;
  /** Resolves when the lines are durable. One caller at a time. */
  append(lines: readonly string[]): Promise<void>;
  latestFirst(): AsyncIterable<string>;
  close(): Promise<void>;
}

/** Rows read at a time, from the newest on. */
const SLICE = 500;
/** Rows that are kept, about as much as the files of a server; and how often too many are removed. */
const KEEP = 200_000;
const PRUNE_EVERY = 1000;

/** The audit log of all nodes that share a database. */
export function createAuditTable(database: Database, clock: Clock): AuditLines {
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
    async prepare() {},

    async append(lines) {
      const at = clock.now();
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

    async *latestFirst() {
      for (let before = Number.MAX_SAFE_INTEGER; ; ) {
        const rows = await database.query
          .selectFrom('audit_entries')
          .select(['id', 'line'])
          .where('id', '<', before)
          .orderBy('id', 'desc')
          .limit(SLICE)
          .execute();
        for (const { line } of rows) yield line;
        const last = rows.at(-1);
        if (!last || rows.length < SLICE) return;
        before = last.id;
      }
    },

    async close() {},
  };
}
