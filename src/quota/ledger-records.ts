import type { Database, Statements } from '../db/database.ts';
import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import type { LedgerBlock, LedgerPage } from './ledger-block.ts';

export interface BlockName {
  readonly store: string;
  readonly id: string;
}

/** Remembers the ledger over a restart, so that only what changed meanwhile is counted anew. */
export interface LedgerRecords {
  load(): Promise<readonly LedgerBlock[]>;
  save(changed: readonly LedgerBlock[], gone: readonly BlockName[]): Promise<void>;
}

type PageRow = readonly [pageX: number, pageY: number, tiles: number, bytes: number, writtenAt: number];

/** Rows in one transaction, so that others get their turn at the database. */
const BATCH = 200;

export function createLedgerRecords(database: Database): LedgerRecords {
  return {
    async load() {
      const rows = await database.query.selectFrom('ledger_blocks').selectAll().execute();
      return rows.map((row) => ({
        store: row.store,
        id: row.block,
        set: tileSetOf(row.tile_set),
        z: row.z,
        stamp: row.stamp,
        diskBytes: row.disk_bytes,
        pages: (JSON.parse(row.pages) as PageRow[]).map(pageOf),
      }));
    },

    async save(changed, gone) {
      for (const batch of inBatches(changed)) {
        await database.transaction('ledger', async (query) => {
          for (const block of batch) await keep(query, block);
        });
      }
      for (const batch of inBatches(gone)) {
        await database.transaction('ledger', async (query) => {
          for (const name of batch) await forget(query, name);
        });
      }
    },
  };
}

async function keep(query: Statements, block: LedgerBlock): Promise<void> {
  const row = {
    store: block.store,
    block: block.id,
    tile_set: tileSetId(block.set),
    z: block.z,
    stamp: block.stamp ?? '',
    disk_bytes: block.diskBytes,
    pages: JSON.stringify(block.pages.map(rowOf)),
  };
  await query
    .insertInto('ledger_blocks')
    .values(row)
    .onConflict((conflict) => conflict.columns(['store', 'block']).doUpdateSet(row))
    .execute();
}

async function forget(query: Statements, { store, id }: BlockName): Promise<void> {
  await query.deleteFrom('ledger_blocks').where('store', '=', store).where('block', '=', id).execute();
}

function rowOf({ pageX, pageY, tiles, bytes, writtenAt }: LedgerPage): PageRow {
  return [pageX, pageY, tiles, bytes, writtenAt];
}

function pageOf([pageX, pageY, tiles, bytes, writtenAt]: PageRow): LedgerPage {
  return { pageX, pageY, tiles, bytes, writtenAt };
}

/** The reverse of `tileSetId`. */
export function tileSetOf(id: string): TileSetKey {
  const [layer, gridSet, format, parametersId] = JSON.parse(id) as [string, string, string, string | null];
  return { layer, gridSet, format, parametersId };
}

export function* inBatches<T>(items: readonly T[], size = BATCH): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
