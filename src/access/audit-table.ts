import { rm, writeFile } from 'node:fs/promises';
import type { Database, Statements } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';
import { isNoRoom } from '../lib/error-code.ts';

/** Rows read at a time, from the newest on. */
const SLICE = 500;
/** Rows that are kept, of administrative changes and of everything else, and how often too many are removed. */
const BOUNDS = { ofAccount: 20_000, inAll: 200_000, pruneEvery: 1000 };
/** Enough for some dozens of changes. */
const RESERVED_BYTES = 1024 * 1024;
const OWNER_AND_GROUP = 0o640;

export interface AuditLine {
  /** JSON, with a newline at its end. */
  readonly line: string;
  /** Null: anonymous. */
  readonly account: string | null;
  /** A change of accounts, keys, layers, grid sets or the quota. */
  readonly administrative: boolean;
}

/**
 * The lines of the audit log. An account can push out only its own, and administrative changes are pushed out by administrative
 * changes only. `reserve` is a file beside the database; null: the database is on another machine.
 */
export function createAuditTable(database: Database, clock: Clock, reserve: string | null, bounds = BOUNDS) {
  let written = 0;
  /** Accounts with entries since rows were last removed. */
  let writers = { administrative: new Set<string>(), other: new Set<string>() };
  let reserved = reserve === null;

  async function insert(lines: readonly AuditLine[]): Promise<void> {
    const at = clock.now();
    const rows = lines.map((line) => auditRow(line, at));
    await database.transaction(null, (query) => query.insertInto('audit_entries').values(rows).execute());
    written += rows.length;
    for (const row of rows) writers[row.administrative ? 'administrative' : 'other'].add(row.account);
  }

  async function prune(): Promise<void> {
    if (written < bounds.pruneEvery) return;
    const { administrative, other } = writers;
    written = 0;
    writers = { administrative: new Set(), other: new Set() };
    await database.transaction('audit', async (query) => {
      for (const [kind, accounts] of [other, administrative].entries()) {
        for (const account of accounts) await removeBeyond(query, bounds.ofAccount, kind, account);
        if (accounts.size > 0) await removeBeyond(query, bounds.inAll, kind, null);
      }
    });
  }

  /** Reserves free space if possible: a layer can be truncated although the disk is full. */
  async function prepare(): Promise<void> {
    if (reserve === null || reserved) return;
    const room = Buffer.alloc(RESERVED_BYTES, '\n');
    reserved = await writeFile(reserve, room, { mode: OWNER_AND_GROUP }).then(
      () => true,
      () => false,
    );
  }

  /** False: nothing was reserved. */
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
    async append(lines: readonly AuditLine[]): Promise<void> {
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

export function auditRow({ line, account, administrative }: AuditLine, at: number) {
  return { at, line, account: account ?? '', administrative: Number(administrative) };
}

/** `administrative`: 0 or 1. `account` null: of all accounts. */
async function removeBeyond(
  query: Statements,
  count: number,
  administrative: number,
  account: string | null,
): Promise<void> {
  let newest = query.selectFrom('audit_entries').select('id').where('administrative', '=', administrative);
  let older = query.deleteFrom('audit_entries').where('administrative', '=', administrative);
  if (account !== null) {
    newest = newest.where('account', '=', account);
    older = older.where('account', '=', account);
  }
  const edge = await newest.orderBy('id', 'desc').offset(count).limit(1).executeTakeFirst();
  if (edge) await older.where('id', '<=', edge.id).execute();
}
