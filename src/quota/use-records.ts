import type { Database, Statements } from '../db/database.ts';
import { tileSetId } from '../domain/tile-key.ts';
import { inBatches, tileSetOf } from './ledger-records.ts';
import type { PageName, PageUse } from './page-uses.ts';

export type RecordedUse = PageName & PageUse;

export interface UseRecords {
  load(): Promise<readonly RecordedUse[]>;
  save(uses: readonly RecordedUse[]): Promise<void>;
  forget(pages: readonly PageName[]): Promise<void>;
}

export function createUseRecords(database: Database): UseRecords {
  return {
    async load() {
      const rows = await database.query.selectFrom('page_uses').selectAll().execute();
      return rows.map((row) => ({
        set: tileSetOf(row.tile_set),
        z: row.z,
        pageX: row.page_x,
        pageY: row.page_y,
        hits: row.hits,
        lastUsedAt: row.last_used_at,
        frequency: row.frequency,
      }));
    },
    async save(uses) {
      for (const batch of inBatches(uses)) {
        await database.transaction('page-uses', async (query) => {
          for (const use of batch) await keep(query, use);
        });
      }
    },
    async forget(pages) {
      for (const batch of inBatches(pages)) {
        await database.transaction('page-uses', async (query) => {
          for (const page of batch) await remove(query, page);
        });
      }
    },
  };
}

async function keep(query: Statements, use: RecordedUse): Promise<void> {
  const row = {
    tile_set: tileSetId(use.set),
    z: use.z,
    page_x: use.pageX,
    page_y: use.pageY,
    hits: use.hits,
    last_used_at: use.lastUsedAt,
    frequency: use.frequency,
  };
  await query
    .insertInto('page_uses')
    .values(row)
    .onConflict((conflict) => conflict.columns(['tile_set', 'z', 'page_x', 'page_y']).doUpdateSet(row))
    .execute();
}

async function remove(query: Statements, { set, z, pageX, pageY }: PageName): Promise<void> {
  await query
    .deleteFrom('page_uses')
    .where('tile_set', '=', tileSetId(set))
    .where('z', '=', z)
    .where('page_x', '=', pageX)
    .where('page_y', '=', pageY)
    .execute();
}
