import type { Database } from '../db/database.ts';
import { nextToken } from '../db/numbers.ts';
import type { RowOf } from '../db/schema.ts';
import { TilewardenError } from '../domain/errors.ts';

export interface ExportState {
  readonly state: 'pending' | 'running' | 'done' | 'failed';
  readonly tiles: number;
  readonly expected: number | null;
  /** Of the whole file, as soon as there is one. */
  readonly bytes: number | null;
  readonly reason: string | null;
  readonly endedAt: string | null;
}

export interface BookedExport<What> extends Pick<RowOf<'exports'>, 'id' | 'run' | 'store' | 'token'> {
  readonly what: What;
  readonly progress: ExportState;
}

const EXPORTS = 'exports';
const MOST = 20;
/** Of one account that is no administrator. */
const MAX_OF_ONE = 10;
/** Milliseconds after which whoever performs an export and says nothing is taken to be gone. */
export const EXPORT_LEASE = 15_000;
const WAITING: ExportState = {
  state: 'pending',
  tiles: 0,
  expected: null,
  bytes: null,
  reason: null,
  endedAt: null,
};

/** Exports and who performs them, the same for all nodes. docs/decisions/0290 has the states. */
export function createExportBook<What>(database: Database) {
  return {
    /** What nobody performs any more waits. */
    async list(): Promise<readonly BookedExport<What>[]> {
      const rows = await database.query.selectFrom('exports').selectAll().orderBy('run').execute();
      const now = await database.now();
      return rows.map((row) => {
        const { progress, ...booked } = read(row);
        const isFree = row.expires_at !== null && row.expires_at < now;
        return { ...booked, progress: isFree ? { ...progress, state: 'pending' } : progress };
      });
    },

    /** One that is not over stays as it is, and is returned. `limited`: whose exports must leave room for others. */
    async add(
      id: string,
      store: string,
      what: What,
      limited: { readonly createdBy: string } | null = null,
    ): Promise<BookedExport<What>> {
      const row = await database.transaction(EXPORTS, async (query) => {
        const rows = await query.selectFrom('exports').selectAll().execute();
        const known = rows.find((row) => row.id === id);
        if (known && known.expires_at !== null) return known;
        if (!known) refuseUnlessRoom(rows, limited);
        const [document, progress] = [JSON.stringify(what), JSON.stringify(WAITING)];
        const run = await nextToken(query);
        const made = { id, run, store, document, progress, token: null, expires_at: 0 };
        await query.deleteFrom('exports').where('id', '=', id).execute();
        await query.insertInto('exports').values(made).execute();
        return made;
      });
      await database.notify(EXPORTS);
      return read(row);
    },

    /** The next that nobody performs, for the caller to perform; null: there is none. */
    async take(): Promise<BookedExport<What> | null> {
      const now = await database.now();
      const waiting = await database.query
        .selectFrom('exports')
        .selectAll()
        .where('expires_at', '<', now)
        .orderBy('run')
        .executeTakeFirst();
      if (!waiting) return null;
      const progress = JSON.stringify({ ...JSON.parse(waiting.progress), state: 'running', reason: null });
      const taken = await database.transaction(null, async (query) =>
        query
          .updateTable('exports')
          .set({ progress, token: await nextToken(query), expires_at: now + EXPORT_LEASE })
          .where('run', '=', waiting.run)
          .where('expires_at', '=', waiting.expires_at)
          .returningAll()
          .executeTakeFirst(),
      );
      return taken ? read(taken) : null;
    },

    /** `free`: milliseconds until others may take it; null: it is over. False: it is the caller's no more. */
    async note({ token }: BookedExport<What>, progress: ExportState, free: number | null): Promise<boolean> {
      const expires_at = free === null ? null : (await database.now()) + free;
      const noted = await database.transaction(null, (query) =>
        query
          .updateTable('exports')
          .set({ progress: JSON.stringify(progress), expires_at })
          .where('token', '=', token)
          .returning('id')
          .executeTakeFirst(),
      );
      return noted !== undefined;
    },

    /** For whoever knows that nobody performs one. */
    async freeAll(): Promise<void> {
      await database.change
        .updateTable('exports')
        .set({ expires_at: 0 })
        .where('expires_at', 'is not', null)
        .execute();
    },

    async remove(id: string): Promise<void> {
      await database.change.deleteFrom('exports').where('id', '=', id).execute();
    },

    listen: (heard: () => void) => database.listen(EXPORTS, heard),
  };

  function read({ document, progress, ...row }: RowOf<'exports'>): BookedExport<What> {
    return { ...row, what: JSON.parse(document), progress: JSON.parse(progress) };
  }
}

function refuseUnlessRoom(
  rows: readonly RowOf<'exports'>[],
  limited: { readonly createdBy: string } | null,
): void {
  if (rows.length >= MOST) {
    throw new TilewardenError('too-many-exports', `There are ${MOST} exports already; delete one first.`);
  }
  const isOwn = ({ document }: RowOf<'exports'>) => JSON.parse(document).createdBy === limited?.createdBy;
  if (!limited || rows.filter(isOwn).length < MAX_OF_ONE) return;
  throw new TilewardenError(
    'too-many-exports',
    `${limited.createdBy} has ${MAX_OF_ONE} exports already, as many as one account that is no administrator may; delete one first.`,
  );
}
