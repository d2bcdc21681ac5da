import { rm, writeFile } from 'node:fs/promises';
import type { Database } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';
import { isNoRoom } from '../lib/error-code.ts';

/** Rows read at a time, from the newest on. */
const SLICE = 500;
/** Rows that are kept, and how often too many are removed. */
const KEEP = 200_000;
const PRUNE_EVERY = 1000;
/** Enough for some dozens of changes. */
const RESERVED_BYTES = 1024 * 1024;
const OWNER_AND_GROUP = 0o640;

/** The lines of the audit log. `reserve` is a file beside the database; null: the database is on another machine. */
export function createAuditTable(database: Database, clock: Clock, reserve: string | null) {
  let written = 0;
  let latest = 0;
  let reserved = reserve === null;

  async function insert(lines: readonly string[]): Promise<void> {
    const at = clock.now();
    const rows = await database.transaction(null, (query) =>
      query
        .insertInto('audit_entries')
        .values(lines.map((line) => ({ at, line })))
        .returning('id')
        .execute(),
    );
    written += lines.length;
    latest = rows.at(-1)?.id ?? latest;
  }

  async function prune(): Promise<void> {
    if (written < PRUNE_EVERY) return;
    written = 0;
    await database.transaction('audit', (query) =>
      query
        .deleteFrom('audit_entries')
        .where('id', '<', latest - KEEP)
        .execute(),
    );
  }

  /** Takes room ahead, if there is some: a layer can be truncated although the disk is full. */
  async function prepare(): Promise<void> {
    if (reserve === null || reserved) return;
    const room = Buffer.alloc(RESERVED_BYTES, '\n');
    reserved = await writeFile(reserve, room, { mode: OWNER_AND_GROUP }).then(
      () => true,
      () => false,
    );
  }

  /** False when there is none. */
  async function giveUpReserve(): Promise<boolean> {
    if (reserve === null) return false;
    reserved = false;
    return rm(reserve).then(
      () => true,
      () => false,
    );
  }

  return {
    prepare,

    /** Resolves when the lines are durable. One caller at a time. */
    async append(lines: readonly string[]): Promise<void> {
      try {
        await insert(lines);
        await prepare();
      } catch (error) {
        if (!isNoRoom(error) || !(await giveUpReserve())) throw error;
        await insert(lines);
      }
      // The lines are there; too many are removed another time.
      await prune().catch(() => {});
    },

    async *latestFirst(): AsyncGenerator<string> {
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
  };
}
