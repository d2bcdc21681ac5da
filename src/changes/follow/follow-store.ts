import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database, Statements } from '../../db/database.ts';
import type { Drawing, LayerDocument, PassReport } from './follow.ts';
import type { FollowRecord, RecordState } from './plan-pass.ts';

/** State after the latest successful pass. */
export interface PassMark {
  /** Milliseconds since 1970. */
  readonly lastAt: number;
  /** Version of the server's configuration when drawings were last read; null: unknown. */
  readonly sequence: string | null;
  /** When drawings were last read. */
  readonly wholeAt: number;
  readonly pending: number;
}

const ROWS_AT_ONCE = 500;
/** Limit of stored reports of each follow. */
const MAX_PASSES = 50;

export type FollowStore = ReturnType<typeof createFollowStore>;

export function createFollowStore(database: Database) {
  const { query } = database;

  return {
    /** By layer, in the turns of the event loop. */
    async records(follow: string): Promise<ReadonlyMap<string, FollowRecord>> {
      const records = new Map<string, FollowRecord>();
      for (let after = ''; ; ) {
        const rows = await query
          .selectFrom('followed_layers')
          .select(['layer', 'state', 'digest', 'drawing'])
          .where('follow', '=', follow)
          .where('layer', '>', after)
          .orderBy('layer')
          .limit(ROWS_AT_ONCE)
          .execute();
        for (const { layer, state, digest, drawing } of rows) {
          const read = drawing === null ? null : (JSON.parse(drawing) as Drawing);
          records.set(layer, { layer, state: state as RecordState, digest, drawing: read });
        }
        const last = rows.at(-1);
        if (!last || rows.length < ROWS_AT_ONCE) return records;
        after = last.layer;
        await nextTurn();
      }
    },

    /** The server's document as it was last applied; null: none. */
    async document(inside: Statements, follow: string, layer: string): Promise<LayerDocument | null> {
      const row = await inside
        .selectFrom('followed_layers')
        .select('document')
        .where('follow', '=', follow)
        .where('layer', '=', layer)
        .executeTakeFirst();
      return row ? (JSON.parse(row.document) as LayerDocument) : null;
    },

    /** In the transaction of the declaration itself. The drawing of a record that exists stays. */
    async put(
      inside: Statements,
      follow: string,
      { layer, state, digest, drawing }: FollowRecord,
      document: LayerDocument,
    ): Promise<void> {
      const row = { state, digest, document: JSON.stringify(document) };
      await inside
        .insertInto('followed_layers')
        .values({ follow, layer, ...row, drawing: drawing && JSON.stringify(drawing) })
        .onConflict((conflict) => conflict.columns(['follow', 'layer']).doUpdateSet(row))
        .execute();
    },

    /** Changes some fields of a record. */
    async set(
      inside: Statements,
      follow: string,
      layer: string,
      { state, drawing }: Partial<Pick<FollowRecord, 'state' | 'drawing'>>,
    ): Promise<void> {
      await inside
        .updateTable('followed_layers')
        .set({ state, drawing: drawing && JSON.stringify(drawing) })
        .where('follow', '=', follow)
        .where('layer', '=', layer)
        .execute();
    },

    async forget(inside: Statements, follow: string, layer: string): Promise<void> {
      await inside
        .deleteFrom('followed_layers')
        .where('follow', '=', follow)
        .where('layer', '=', layer)
        .execute();
    },

    /** The follow that a layer belongs to; null: none. */
    async followOf(layer: string): Promise<string | null> {
      const row = await query
        .selectFrom('followed_layers')
        .select('follow')
        .where('layer', '=', layer)
        .executeTakeFirst();
      return row?.follow ?? null;
    },

    async counts(): Promise<ReadonlyMap<string, number>> {
      const rows = await query
        .selectFrom('followed_layers')
        .select((eb) => ['follow', eb.fn.countAll().as('count')])
        .groupBy('follow')
        .execute();
      return new Map(rows.map(({ follow, count }) => [follow, Number(count)]));
    },

    async mark(follow: string): Promise<PassMark | null> {
      const row = await query
        .selectFrom('follow_marks')
        .selectAll()
        .where('follow', '=', follow)
        .executeTakeFirst();
      if (!row) return null;
      const { last_at: lastAt, whole_at: wholeAt, sequence, pending } = row;
      return { lastAt, wholeAt, sequence, pending };
    },

    /** A pass is over. Reports of passes that changed nothing are not kept. */
    async passed(follow: string, mark: PassMark, report: PassReport | null): Promise<void> {
      const { lastAt: last_at, wholeAt: whole_at, sequence, pending } = mark;
      const row = { follow, last_at, whole_at, sequence, pending };
      await database.transaction('follow', async (inside) => {
        await inside
          .insertInto('follow_marks')
          .values(row)
          .onConflict((conflict) => conflict.column('follow').doUpdateSet(row))
          .execute();
        if (!report) return;
        const document = JSON.stringify(report);
        await inside
          .insertInto('follow_passes')
          .values({ follow, at: report.at, report: document })
          .execute();
        const passes = inside.selectFrom('follow_passes').select('id').where('follow', '=', follow);
        const oldest = await passes.orderBy('id', 'desc').offset(MAX_PASSES).limit(1).executeTakeFirst();
        if (oldest)
          await inside
            .deleteFrom('follow_passes')
            .where('follow', '=', follow)
            .where('id', '<=', oldest.id)
            .execute();
      });
    },

    /** Newest first. */
    async passes(follow: string): Promise<readonly PassReport[]> {
      const rows = await query
        .selectFrom('follow_passes')
        .select('report')
        .where('follow', '=', follow)
        .orderBy('id', 'desc')
        .limit(MAX_PASSES)
        .execute();
      return rows.map(({ report }) => JSON.parse(report) as PassReport);
    },
  };
}
