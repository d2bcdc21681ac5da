import type { Conditions, Database, Statements } from '../db/database.ts';
import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import { addUses, type PageName, type PageUse } from './page-uses.ts';

export type RecordedUse = PageName & PageUse;

/** Pages that others have used since the last look; more of them are seen when they are used again. */
const MOST_NEWS = 5000;
/** Rows read in one go. */
const SLICE = 1000;
const KEY = ['tile_set', 'z', 'page_x', 'page_y'] as const;

export type UseRecords = ReturnType<typeof createUseRecords>;

/** What is saved or forgotten at once is one statement: whoever has much to say lets others have their turn between. */
export function createUseRecords(database: Database) {
  return {
    /** Some at a time. */
    async *load(): AsyncIterable<readonly RecordedUse[]> {
      for (let after = null; ; ) {
        const rows = await rowsAfter(database.query, after);
        if (rows.length === 0) return;
        yield rows.map(useOf);
        after = rows.at(-1) ?? null;
      }
    },
    /** Those of pages that were used at this time or later. Milliseconds since 1970. */
    async since(usedAt: number): Promise<readonly RecordedUse[]> {
      const rows = await database.query
        .selectFrom('page_uses')
        .selectAll()
        .where('last_used_at', '>=', usedAt)
        .orderBy('last_used_at', 'desc')
        .limit(MOST_NEWS)
        .execute();
      return rows.map(useOf);
    },
    /** Adds to what others have recorded. */
    async save(uses: readonly RecordedUse[]): Promise<void> {
      await database.transaction('page-uses', async (query) => {
        const recorded = await query.selectFrom('page_uses').selectAll().where(within(uses)).execute();
        const known = new Map(recorded.map((row) => [placeOf(row), useOf(row)]));
        const sums = uses.map((use) => {
          const before = known.get(placeOf(rowOf(use)));
          return before ? { ...use, ...addUses(before, use) } : use;
        });
        await query
          .insertInto('page_uses')
          .values(sums.map(rowOf))
          .onConflict((conflict) =>
            conflict.columns(KEY).doUpdateSet((row) => ({
              hits: row.ref('excluded.hits'),
              last_used_at: row.ref('excluded.last_used_at'),
              frequency: row.ref('excluded.frequency'),
            })),
          )
          .execute();
      });
    },
    async forget(pages: readonly PageName[]): Promise<void> {
      await database.transaction('page-uses', async (query) => {
        await query.deleteFrom('page_uses').where(within(pages)).execute();
      });
    },
  };
}

/** What tells the rows of some pages from all others. */
function within(pages: readonly PageName[]) {
  return ({ eb, or, and }: Conditions<'page_uses'>) =>
    or(
      pages.map(({ set, z, pageX, pageY }) =>
        and([
          eb('tile_set', '=', tileSetId(set)),
          eb('z', '=', z),
          eb('page_x', '=', pageX),
          eb('page_y', '=', pageY),
        ]),
      ),
    );
}

function placeOf({ tile_set, z, page_x, page_y }: UseRow): string {
  return JSON.stringify([tile_set, z, page_x, page_y]);
}

type UseRow = Awaited<ReturnType<typeof rowsAfter>>[number];

async function rowsAfter(
  query: Statements,
  row: { tile_set: string; z: number; page_x: number; page_y: number } | null,
) {
  let found = query.selectFrom('page_uses').selectAll();
  if (row) {
    found = found.where(({ eb, refTuple, tuple }) =>
      eb(refTuple(...KEY), '>', tuple(row.tile_set, row.z, row.page_x, row.page_y)),
    );
  }
  return found.orderBy('tile_set').orderBy('z').orderBy('page_x').orderBy('page_y').limit(SLICE).execute();
}

function useOf(row: UseRow): RecordedUse {
  const { z, page_x: pageX, page_y: pageY, hits, last_used_at: lastUsedAt, frequency } = row;
  return { set: tileSetOf(row.tile_set), z, pageX, pageY, hits, lastUsedAt, frequency };
}

function rowOf({ set, z, pageX, pageY, hits, lastUsedAt, frequency }: RecordedUse): UseRow {
  const place = { tile_set: tileSetId(set), z, page_x: pageX, page_y: pageY };
  return { ...place, hits, last_used_at: lastUsedAt, frequency };
}

/** The reverse of `tileSetId`. */
function tileSetOf(id: string): TileSetKey {
  const [layer, gridSet, format, parametersId] = JSON.parse(id) as [string, string, string, string | null];
  return { layer, gridSet, format, parametersId };
}
