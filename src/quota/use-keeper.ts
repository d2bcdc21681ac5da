import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Conditions, Database, Statements } from '../db/database.ts';
import { tileSetId, tileSetOf } from '../domain/tile-key.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';
import { isInMask, numberInBlock, PAGES_PER_SIDE } from '../storage/page-mask.ts';
import type { Ledger } from './ledger.ts';
import { addUses, type PageName, type PageUse, type PageUses } from './page-uses.ts';

interface UseKeeperOptions extends Env {
  readonly uses: PageUses;
  readonly ledger: Ledger;
  readonly records: UseRecords;
  /** Other nodes count uses too. */
  readonly shared: boolean;
}

/** Milliseconds of uses that a crash may lose. */
const SAVE_INTERVAL = 5000;
/** Pages in one statement, and in one turn. */
const BATCH = 200;
/** Milliseconds between looks for uses of removed pages. */
const PRUNE_INTERVAL = 3_600_000;

/** Writes uses down in batches, and brings them back at the start. */
export async function openUseKeeper(options: UseKeeperOptions): Promise<{ close(): Promise<void> }> {
  const { uses, ledger, records, shared, clock, log } = options;
  let prunedAt = clock.monotonic();

  async function turn(): Promise<void> {
    await save();
    if (shared) await hearOthers();
    if (clock.monotonic() - prunedAt < PRUNE_INTERVAL) return;
    prunedAt = clock.monotonic();
    await prune();
  }

  /** Later uses are left for the next time: a page in constant use would never be finished. */
  async function save(): Promise<void> {
    try {
      for (let left = uses.unsaved; left > 0; left -= BATCH) {
        await records.save(uses.takeUnsaved(Math.min(left, BATCH)));
        await nextTurn();
      }
    } catch (error) {
      log.warn({ err: error }, 'the uses of tiles could not be recorded; retrying later');
    }
  }

  async function hearOthers(): Promise<void> {
    try {
      const recorded = await records.since(clock.now() - 3 * SAVE_INTERVAL);
      for (const use of recorded) uses.restore(use, use);
    } catch (error) {
      log.warn({ err: error }, 'the uses of tiles on other nodes could not be read');
    }
  }

  async function forget(pages: readonly PageName[]): Promise<void> {
    for (let at = 0; at < pages.length; at += BATCH) {
      const some = pages.slice(at, at + BATCH);
      await records.forget(some);
      for (const page of some) uses.forget(page);
      await nextTurn();
    }
    await nextTurn();
  }

  async function prune(): Promise<void> {
    const begun = clock.now();
    try {
      await ledger.refresh();
      for (const level of uses.levels()) {
        const masks = await masksOf(ledger, level);
        const isGone = (page: PageName) => !isInMask(masks.get(blockOf(page)) ?? 0n, numberInBlock(page));
        for (const pages of uses.pagesOf(level))
          await forget(pages.filter((page) => page.lastUsedAt < begun && isGone(page)));
      }
    } catch (error) {
      log.warn({ err: error }, 'use counts of deleted tiles could not be removed');
    }
  }

  for await (const kept of records.load()) {
    for (const use of kept) uses.restore(use, use);
    await nextTurn();
  }
  const failure = 'the uses of tiles could not be kept';
  const turns = openRepeater(turn, { clock, log, pause: SAVE_INTERVAL, pauseFirst: true, failure });
  return { close: () => turns.close().then(save) };
}

/** Which pages of a zoom have tiles, block by block. */
async function masksOf(
  ledger: Ledger,
  { set, z }: Pick<PageName, 'set' | 'z'>,
): Promise<ReadonlyMap<string, bigint>> {
  const masks = new Map<string, bigint>();
  for await (const { x, y, mask } of ledger.blocksOf(set, z)) {
    const place = `${x} ${y}`;
    masks.set(place, (masks.get(place) ?? 0n) | mask);
  }
  return masks;
}

function blockOf({ pageX, pageY }: PageName): string {
  return `${Math.floor(pageX / PAGES_PER_SIDE)} ${Math.floor(pageY / PAGES_PER_SIDE)}`;
}

export type RecordedUse = PageName & PageUse;

/** Pages that others have used since the last look; more of them are seen when they are used again. */
const MAX_NEWS = 5000;
/** Rows read in one go. */
const SLICE = 1000;
const KEY = ['tile_set', 'z', 'page_x', 'page_y'] as const;

type UseRecords = ReturnType<typeof createUseRecords>;

/** Entries saved or removed by one statement: larger sets yield to other work in between. */
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
        .limit(MAX_NEWS)
        .execute();
      return rows.map(useOf);
    },
    async save(uses: readonly RecordedUse[]): Promise<void> {
      await database.transaction('page-uses', async (query) => {
        const recorded = await query.selectFrom('page_uses').selectAll().where(within(uses)).execute();
        const known = new Map(recorded.map((row) => [rowKey(row), useOf(row)]));
        const sums = uses.map((use) => {
          const before = known.get(rowKey(useRow(use)));
          return before ? { ...use, ...addUses(before, use) } : use;
        });
        await query
          .insertInto('page_uses')
          .values(sums.map(useRow))
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

/** The rows of some pages. */
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

function rowKey({ tile_set, z, page_x, page_y }: UseRow): string {
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

function useRow({ set, z, pageX, pageY, hits, lastUsedAt, frequency }: RecordedUse): UseRow {
  const place = { tile_set: tileSetId(set), z, page_x: pageX, page_y: pageY };
  return { ...place, hits, last_used_at: lastUsedAt, frequency };
}
