import { rm, writeFile } from 'node:fs/promises';
import type { Database, Statements } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';
import { isNoRoom } from '../lib/error-code.ts';

/** Rows per query of a reader. */
const SLICE = 500;
/** Rows kept of each kind (administrative changes, other entries), per account and in total; rows between prunings. */
const BOUNDS = { ofAccount: 20_000, inAll: 200_000, pruneEvery: 1000 };
/** Room on a full disk for dozens of entries. */
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
 * The audit log in the database. Administrative changes and other entries have separate limits: an account keeps its
 * newest 20,000 rows of a kind; above 200,000 rows of a kind the oldest are removed, of any account. `reserve`: a file
 * beside the database; null: the database is on another machine.
 */
export function createAuditTable(database: Database, clock: Clock, reserve: string | null, bounds = BOUNDS) {
  let written = 0;
  /** Accounts with entries since the last successful pruning. */
  let writers = { administrative: new Set<string>(), other: new Set<string>() };
  let reserved = reserve === null;

  async function insert(lines: readonly AuditLine[]): Promise<void> {
    const at = clock.now();
    const rows = lines.map((line) => auditRow(line, at));
    await database.transaction(null, (query) => insertWith(query, rows));
  }

  async function insertWith(query: Statements, rows: readonly ReturnType<typeof auditRow>[]): Promise<void> {
    await query.insertInto('audit_entries').values(rows).execute();
    written += rows.length;
    for (const row of rows) writers[row.administrative ? 'administrative' : 'other'].add(row.account);
  }

  async function prune(): Promise<void> {
    if (written < bounds.pruneEvery) return;
    const { administrative, other } = writers;
    written = 0;
    await database.transaction('audit', async (query) => {
      // The index is the value of the column `administrative`.
      for (const [column, accounts] of [other, administrative].entries()) {
        for (const account of accounts) await removeBeyond(query, bounds.ofAccount, column, account);
        if (accounts.size > 0) await removeBeyond(query, bounds.inAll, column, null);
      }
    });
    writers = { administrative: new Set(), other: new Set() };
  }

  /** Reserves space so that a truncation can still be audited, hence carried out, on a full disk. */
  async function reserveSpace(): Promise<void> {
    if (reserve === null || reserved) return;
    const filler = Buffer.alloc(RESERVED_BYTES, '\n');
    reserved = await writeFile(reserve, filler, { mode: OWNER_AND_GROUP }).then(
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
    reserveSpace,

    /** Resolves when the lines are durable. One caller at a time. */
    async append(lines: readonly AuditLine[]): Promise<void> {
      try {
        await insert(lines);
        await reserveSpace();
      } catch (error) {
        if (!isNoRoom(error) || !(await giveUpReserve())) throw error;
        await insert(lines);
      }
      // The lines are stored: a failed pruning is repeated later.
      await prune().catch(() => {});
    },

    /** Within the caller's transaction. Pruned with the next `append`. */
    appendWith: (query: Statements, line: AuditLine) => insertWith(query, [auditRow(line, clock.now())]),

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

function auditRow({ line, account, administrative }: AuditLine, at: number) {
  return { at, line, account: account ?? '', administrative: Number(administrative) };
}

/** Keeps the newest `count` rows. `administrative`: 0 or 1. `account` null: of all accounts. */
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
