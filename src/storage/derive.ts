import { addRanks } from '../domain/page-rank.ts';
import {
  BLOCK_SIZE,
  PAGE_SIZE,
  pageOf,
  type TileIndex,
  type TileSetKey,
  tileSetId,
} from '../domain/tile-key.ts';
import {
  blockAt,
  DEEPEST_ZOOM,
  intersectRects,
  sizeOfRect,
  type TileRect,
  WHOLE_LEVEL,
} from '../domain/tile-rect.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { maskOf, numberInBlock } from './page-mask.ts';
import type {
  EvictionOrder,
  LevelUsage,
  PageFilter,
  PageUsage,
  Store,
  StoreUsage,
  UsedPage,
} from './store.ts';
import {
  type DerivedMethods,
  type DriverStore,
  NO_CHANGE,
  type OpenMark,
  type PageStatistics,
  type QuickerMethods,
  type StoreBlock,
  type StoreChange,
  type StoredTile,
  type StoreFacets,
  sumOfChanges,
  type TileEntry,
  type TilePart,
  type TilePlace,
  type TileStore,
} from './tile-store.ts';

/** Derives the store that callers use from a driver. Reading a tile calls the driver itself. */
export function derive(driver: DriverStore): TileStore {
  const quick = { ...slowerMethods(driver), ...driver };
  return { ...derivedMethods(quick), ...quick, ...storeMethods(quick) };
}

/** The methods of `Store`, of drivers that do not have them yet. Uses of pages are kept in memory. */
function storeMethods(driver: DriverStore & QuickerMethods): Omit<Store, 'get' | keyof StoreFacets> {
  const uses = new Map<string, Omit<UsedPage, 'pageX' | 'pageY'>>();

  async function* pages({ set: only, ...filter }: PageFilter, layer?: string): AsyncGenerator<PageUsage> {
    for await (const set of driver.tileSets(only?.layer ?? layer ?? null)) {
      if (only && tileSetId(only) !== tileSetId(set)) continue;
      for await (const page of driver.pages(set)) {
        if (!isWithin(page, filter)) continue;
        const use = uses.get(pageName(page)) ?? { hits: 0, usedAt: 0, rank: 0 };
        yield { ...page, ...use, touchedAt: Math.max(use.usedAt, page.writtenAt) };
      }
    }
  }

  async function* pagesInOrder(filter: PageFilter | EvictionOrder): AsyncGenerator<readonly PageUsage[]> {
    const all: PageUsage[] = [];
    const order = 'first' in filter ? filter : null;
    for await (const page of pages('first' in filter ? {} : filter, order?.layer)) all.push(page);
    const rank = (page: PageUsage) => (order?.first === 'LFU' ? page.rank : 0);
    if (order) all.sort((a, b) => rank(a) - rank(b) || a.touchedAt - b.touchedAt);
    for (let at = 0; at < all.length; at += 1000) yield all.slice(at, at + 1000);
  }

  async function levels(layer?: string): Promise<StoreUsage> {
    const found = new Map<string, LevelUsage>();
    for await (const page of pages({}, layer)) {
      const { set, z, writtenAt } = page;
      const name = `${tileSetId(set)} ${z}`;
      const known = found.get(name);
      const changedAt = Math.max(known?.changedAt ?? 0, writtenAt);
      const count = (known?.pages ?? 0) + 1;
      found.set(name, { set, z, pages: count, changedAt, ...sumOfChanges([known, page]) });
    }
    return { levels: [...found.values()], sweeping: await driver.sweeping() };
  }

  function usage(layer?: string): Promise<StoreUsage>;
  function usage(filter: PageFilter | EvictionOrder): AsyncIterable<readonly PageUsage[]>;
  function usage(
    filter?: string | PageFilter | EvictionOrder,
  ): Promise<StoreUsage> | AsyncIterable<readonly PageUsage[]> {
    return typeof filter === 'object' ? pagesInOrder(filter) : levels(filter);
  }

  function marks(): Promise<readonly OpenMark[]>;
  function marks(layer: string, place?: TilePlace): Promise<number>;
  function marks(layer?: string, place?: TilePlace): Promise<readonly OpenMark[]> | Promise<number> {
    return layer === undefined ? driver.openMarks() : driver.generation(layer, place);
  }

  return {
    put: driver.putMany,
    list: driver.list,
    async edit(set, z, rect, edit, signal) {
      if (edit.type !== 'use') return driver.edit(set, z, rect, edit, signal);
      for (const page of edit.pages) {
        const name = pageName({ set, z, ...page });
        const { hits, usedAt, rank } = uses.get(name) ?? { hits: 0, usedAt: 0, rank: 0 };
        const latest = Math.max(usedAt, page.usedAt);
        uses.set(name, { hits: hits + page.hits, usedAt: latest, rank: addRanks(rank, page.rank) });
      }
      return { tiles: edit.pages.length, bytes: 0 };
    },
    drop: driver.drop,
    ticket: driver.ticket,
    async mark(change) {
      const numbers: number[] = [];
      if (change.type === 'close') for (const number of change.numbers) await driver.closeMark('', number);
      else
        for (const { layer, places, effect } of change.raises)
          numbers.push(await driver.raiseGeneration(layer, places, effect ?? undefined));
      return numbers;
    },
    marks,
    usage,
    close: driver.close,
  };
}

function isWithin({ z, pageX, pageY }: PageStatistics, filter: PageFilter): boolean {
  const { rect } = filter;
  if (filter.z !== undefined && filter.z !== z) return false;
  return !rect || intersectRects(blockAt(pageX, pageY, PAGE_SIZE), rect) !== null;
}

function pageName({ set, z, pageX, pageY }: Pick<PageStatistics, 'set' | 'z' | 'pageX' | 'pageY'>): string {
  return `${tileSetId(set)} ${z} ${pageX} ${pageY}`;
}

function derivedMethods({ list, tileSets, drop }: DriverStore & QuickerMethods): DerivedMethods {
  return {
    async *layers() {
      const seen = new Set<string>();
      for await (const { layer } of tileSets(null)) {
        if (!seen.has(layer)) yield layer;
        seen.add(layer);
      }
    },
    async present(set, z, rect, createdSince, freshAt = Number.NEGATIVE_INFINITY) {
      const found = await shownWithin(list(set, z, rect));
      return found
        .filter(
          ({ createdAt, freshUntil }) => createdAt >= createdSince && (freshUntil ?? Infinity) > freshAt,
        )
        .map(({ x, y }) => ({ z, x, y }));
    },
    async validatorOf(set, z, rect) {
      const found = await shownWithin(list(set, z, rect));
      const validator = found[0]?.validator ?? null;
      const same = found.every((tile) => tile.validator === validator);
      return same && found.length === sizeOfRect(rect) ? validator : null;
    },
    dropTileSet: (set) => drop(set.layer, set),
    dropLayer: (layer) => drop(layer, null),
  };
}

/** By listing tiles. Good enough where that costs nothing. */
function slowerMethods(driver: DriverStore): QuickerMethods {
  const { get, list, edit, tileSets, ticket } = driver;

  async function* blocks(): AsyncGenerator<StoreBlock & { readonly pages: readonly PageStatistics[] }> {
    for await (const set of tileSets(null)) {
      const byBlock = new Map<string, PageStatistics[]>();
      for await (const page of (driver.pages ?? pages)(set)) {
        getOrCreate(byBlock, blockId(page), () => []).push(page);
      }
      for (const [id, inside] of byBlock) yield { ...blockOf(id, inside), pages: inside };
    }
  }

  async function* pages(set: TileSetKey): AsyncGenerator<PageStatistics> {
    for (let z = 0; z <= DEEPEST_ZOOM; z++) yield* await pagesOf(set, list(set, z));
  }

  async function* parts(set: TileSetKey, z: number, rect: TileRect): AsyncGenerator<TilePart> {
    yield* await partsOf(list(set, z, rect), rect);
  }

  return {
    generation: async (layer, place) => (await ticket(layer, place)).generation,
    async drop(layer, only) {
      for await (const set of tileSets(layer)) {
        if (only && tileSetId(set) !== tileSetId(only)) continue;
        for (let z = 0; z <= DEEPEST_ZOOM; z++) await edit(set, z, WHOLE_LEVEL, { type: 'remove' });
      }
    },
    sweeping: async () => ({ files: 0, bytes: 0 }),
    async pageWith(set, { z, x, y }) {
      const places = await shownWithin(list(set, z, blockAt(pageOf(x), pageOf(y), PAGE_SIZE)));
      const found = new Map<string, StoredTile | null>();
      for (const place of places) {
        const beside = (other: TileIndex, stored: StoredTile) => found.set(`${other.x} ${other.y}`, stored);
        const name = `${place.x} ${place.y}`;
        if (!found.has(name)) found.set(name, await get(set, { z, x: place.x, y: place.y }, beside));
      }
      return places.flatMap((place) => {
        const stored = found.get(`${place.x} ${place.y}`);
        return stored ? [{ z, x: place.x, y: place.y, ...stored }] : [];
      });
    },
    parts,
    async count(set, z, rect, createdBefore) {
      let total = NO_CHANGE;
      for await (const part of (driver.parts ?? parts)(set, z, rect)) {
        const isCounted = createdBefore === undefined && isOfWholePages(part.rect);
        total = sumOfChanges([
          total,
          isCounted ? part : await amountOf(list(set, z, part.rect), createdBefore),
        ]);
      }
      return total;
    },
    pages,
    blocks: async () => ({ blocks: blocks(), complete: true, cursor: 0 }),
    async pagesIn(ids) {
      const found = new Map<string, readonly PageStatistics[]>();
      for await (const { id, pages: inside } of blocks()) if (ids.includes(id)) found.set(id, inside);
      return found;
    },
  };
}

async function allOf(slices: AsyncIterable<readonly TileEntry[]>): Promise<readonly TileEntry[]> {
  const all: TileEntry[] = [];
  for await (const tiles of slices) for (const tile of tiles) all.push(tile);
  return all;
}

/** What readers see, row by row. */
async function shownWithin(slices: AsyncIterable<readonly TileEntry[]>): Promise<readonly TileEntry[]> {
  const shown = (await allOf(slices)).filter(({ hidden }) => !hidden);
  return shown.sort((a, b) => a.y - b.y || a.x - b.x);
}

async function amountOf(
  slices: AsyncIterable<readonly TileEntry[]>,
  createdBefore = Infinity,
): Promise<StoreChange> {
  const sum = { tiles: 0, bytes: 0 };
  for await (const tiles of slices) {
    for (const { createdAt, bytes } of tiles) {
      if (createdAt >= createdBefore) continue;
      sum.tiles += 1;
      sum.bytes += bytes;
    }
  }
  return sum;
}

function isOfWholePages({ minX, minY, maxX, maxY }: TileRect): boolean {
  return [minX, minY, maxX + 1, maxY + 1].every((edge) => edge % PAGE_SIZE === 0);
}

async function partsOf(
  slices: AsyncIterable<readonly TileEntry[]>,
  rect: TileRect,
): Promise<Iterable<TilePart>> {
  const parts = new Map<string, TilePart>();
  for (const { x, y, bytes } of await allOf(slices)) {
    const block = blockAt(Math.floor(x / BLOCK_SIZE), Math.floor(y / BLOCK_SIZE), BLOCK_SIZE);
    const id = `${block.minX} ${block.minY}`;
    const part = intersectRects(block, rect) ?? block;
    parts.set(id, { rect: part, ...sumOfChanges([parts.get(id), { tiles: 1, bytes }]) });
  }
  return parts.values();
}

async function pagesOf(
  set: TileSetKey,
  slices: AsyncIterable<readonly TileEntry[]>,
): Promise<Iterable<PageStatistics>> {
  const pages = new Map<string, PageStatistics>();
  for (const { z, x, y, bytes, createdAt } of await allOf(slices)) {
    const place = { set, z, pageX: pageOf(x), pageY: pageOf(y) };
    const id = `${place.pageX} ${place.pageY}`;
    const known = pages.get(id);
    const writtenAt = Math.max(known?.writtenAt ?? 0, createdAt);
    pages.set(id, { ...place, ...sumOfChanges([known, { tiles: 1, bytes }]), writtenAt });
  }
  return pages.values();
}

function blockId({ set, z, pageX, pageY }: PageStatistics): string {
  return `${tileSetId(set)} ${z} ${placeOfBlock(pageX)} ${placeOfBlock(pageY)}`;
}

function blockOf(id: string, pages: readonly PageStatistics[]): StoreBlock {
  const [first] = pages;
  if (!first) return { id, content: null };
  const { set, z, pageX, pageY } = first;
  const { tiles, bytes } = sumOfChanges(pages);
  const changedAt = Math.max(...pages.map(({ writtenAt }) => writtenAt));
  const place = { set, z, x: placeOfBlock(pageX), y: placeOfBlock(pageY) };
  const mask = maskOf(pages.map(numberInBlock));
  return { id, content: { ...place, mask, tiles, bytes, diskBytes: bytes, changedAt } };
}

function placeOfBlock(page: number): number {
  return Math.floor((page * PAGE_SIZE) / BLOCK_SIZE);
}
