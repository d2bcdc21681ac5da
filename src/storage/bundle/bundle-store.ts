import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type TileIndex, type TileSetKey, tileSetOf } from '../../domain/tile-key.ts';
import { blockAt, intersectRects, type TileRect, WHOLE_LEVEL } from '../../domain/tile-rect.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Env } from '../../lib/env.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { derive } from '../derive.ts';
import {
  NO_CHANGE,
  type StoreChange,
  type StoredTile,
  sumOfChanges,
  type TileLimits,
  type TileStore,
} from '../tile-store.ts';
import { READERS_LEASE, type TileRow } from './at-rest-reader.ts';
import { openBundleAccess, patiently } from './bundle-access.ts';
import { BundleBlocks } from './bundle-blocks.ts';
import { FOREVER } from './bundle-editor.ts';
import { isIntact, proofSeed } from './bundle-file.ts';
import { bundlesTouching, existingBundles, listBundles, listFolders, listLevels } from './bundle-folders.ts';
import {
  BUNDLE_SIZE,
  bundleIndexOf,
  coverOfBundle,
  keyOfTile,
  keysOfPage,
  type ListedBundle,
  pageOfKey,
  pageStatistics,
  tilePlace,
} from './bundle-grid.ts';
import {
  type BundleLayout,
  bundleFolder,
  bundleLayout,
  createTileSetFolders,
  layerFolder,
} from './bundle-layout.ts';
import { BundleMarks, removeMark } from './bundle-marks.ts';
import type { OpenBundle } from './bundle-reader.ts';
import type { BundleStoreOptions } from './bundle-store-options.ts';
import { BundleWriter } from './bundle-writer.ts';
import { type Generations, openGenerations, syncFolder } from './generations.ts';
import { storeFailure } from './sqlite-failure.ts';
import { checkSqliteVersion } from './sqlite-version.ts';
import { measureTrash, moveToTrash, openSweeper } from './trash.ts';
import { packTiles } from './write-commands.ts';

interface BundleStoreTools extends Env {
  /** Absolute; made when it is not there. */
  readonly root: string;
  /** Nothing is swept. */
  readonly readOnly?: boolean;
}

/** Bundles whose seed is remembered; working it out takes a twentieth as long as reading a tile. */
const MAX_SEEDS = 20_000;
/** Milliseconds. More than the resolution of times in file systems. */
const DROPPED_LATELY = 2000;

/** Several stores, in one process or in many, may be open on the same root. */
export async function openBundleStore(
  options: BundleStoreOptions,
  tools: BundleStoreTools,
): Promise<TileStore> {
  const { root, log, clock } = tools;
  const layout = bundleLayout(root);
  const generations = await prepare(layout, clock);
  const writer = new BundleWriter(root, log);
  const access = openBundleAccess(options.maxOpenBundles, writer, tools);
  const blocks = new BundleBlocks({ layout, access, clock, log });
  const folderOf = createTileSetFolders(layout);
  const sweeper = tools.readOnly ? null : openSweeper(layout, options.sweepBytesPerSecond, tools);

  const readBundle = <T>(set: TileSetKey, z: number, at: ListedBundle, use: (bundle: OpenBundle) => T) =>
    access.read(bundleFolder(folderOf(set), z, at.bundleX, at.bundleY), use);

  const folderHolding = (set: TileSetKey, { z, x, y }: TileIndex) =>
    bundleFolder(folderOf(set), z, bundleIndexOf(x), bundleIndexOf(y));

  const seeds = new Map<string, number>();
  const seedOf = (folder: string) => {
    if (seeds.size >= MAX_SEEDS) seeds.clear();
    return getOrCreate(seeds, folder, () => proofSeed(folder.slice(layout.layers.length + 1)));
  };

  /** Null when it is not what was stored there. */
  function storedTile(folder: string, key: number, row: TileRow): StoredTile | null {
    const { bytes, checksum, created_at: createdAt, fresh_until: freshUntil, made_by: madeBy } = row;
    return isIntact(row, seedOf(folder), key) ? { bytes, checksum, createdAt, freshUntil, madeBy } : null;
  }

  const marks = new BundleMarks(layout, clock);
  /** Without them no tile is shown: one of them may hide it. */
  const currentMarks = () => {
    try {
      return marks.current();
    } catch (error) {
      throw storeFailure(error);
    }
  };

  async function discardTorn(path: string, key: number): Promise<null> {
    const { tiles } = await writer.run('discardTile', [path, key]);
    if (tiles !== 0) log.warn({ file: path, key }, 'removed a damaged tile; it will be created again');
    return null;
  }

  const pagesOf = async (set: TileSetKey, z: number, at: ListedBundle) =>
    (await readBundle(set, z, at, (bundle) => bundle.pages().all())) ?? [];

  /** Page by page, so that no turn is long. */
  async function* tilesIn(set: TileSetKey, z: number, at: ListedBundle, rect: TileRect) {
    const open = currentMarks();
    for (const [turn, { ranges }] of [...coverOfBundle(at.bundleX, at.bundleY, rect)].entries()) {
      if (turn > 0) await nextTurn();
      const rows = await readBundle(set, z, at, (bundle) =>
        ranges.flatMap(({ first, last }) => bundle.entries().all(first, last)),
      );
      if (!rows) return;
      yield rows.map((row) => {
        const { bytes, createdAt, validator } = row;
        const { x, y } = tilePlace(at, row.key);
        const shown = open.shown(set, { z, x, y }, row, row.ticket);
        const { freshUntil } = shown ?? row;
        return { z, x, y, bytes, createdAt, freshUntil, validator, hidden: !shown };
      });
    }
  }

  /** Renaming is one step for every process, however much the folder holds; synced, it outlives a power cut. */
  async function dropFolder(folder: string): Promise<void> {
    if (!existsSync(folder)) return waitForReadersOfOthers(dirname(folder));
    try {
      const mark = await writer.run('dropping', [folder]);
      const moved = moveToTrash(layout.trash, folder);
      access.closeBelow(folder);
      const syncing = moved ? syncFolder(dirname(folder)) : null;
      await Promise.all([syncing, writer.run('closeBelow', [folder, mark]), waitForReaders()]);
    } catch (error) {
      throw storeFailure(error);
    }
  }

  /** Tiles that another process has just dropped may still be read somewhere. */
  async function waitForReadersOfOthers(parent: string): Promise<void> {
    const status = statSync(parent, { throwIfNoEntry: false });
    if (status && clock.now() - status.mtimeMs < DROPPED_LATELY) await clock.sleep(READERS_LEASE);
  }

  /** Afterwards no reader of any process sees removed tiles. */
  async function waitForReaders(): Promise<void> {
    sweeper?.wake();
    await clock.sleep(READERS_LEASE);
  }

  async function tileSetIn(folder: string): Promise<TileSetKey | null> {
    for await (const z of listLevels(folder)) {
      for await (const { bundleX, bundleY } of listBundles(folder, z)) {
        const identity = await access.read(bundleFolder(folder, z, bundleX, bundleY), (b) =>
          b.identity().get(),
        );
        if (identity) return tileSetOf(identity);
      }
    }
    return null;
  }

  async function* tileSetsBelow(folder: string): AsyncGenerator<TileSetKey> {
    for await (const name of listFolders(folder)) {
      const set = await tileSetIn(`${folder}/${name}`);
      if (set) yield set;
    }
  }

  return derive({
    async get(set, tile) {
      const key = keyOfTile(tile.x, tile.y);
      const folder = folderHolding(set, tile);
      const open = currentMarks();
      const found = await access.readTile(folder, key);
      if (!found?.row) return null;
      const stored = storedTile(folder, key, found.row);
      return stored ? open.shown(set, tile, stored, found.row.ticket) : discardTorn(found.path, key);
    },

    async putMany(set, z, tiles, ticket) {
      const { slots, bytes } = packTiles(tiles);
      return writer.run('put', [{ set, z, ticket, at: clock.now(), slots, bytes }], [bytes.buffer]);
    },

    async *list(set, z, rect = WHOLE_LEVEL) {
      for await (const at of bundlesTouching(folderOf(set), z, rect)) yield* tilesIn(set, z, at, rect);
    },

    async edit(set, z, rect, edit, signal) {
      const limits: TileLimits = edit.type === 'confirm' ? {} : edit;
      const done: StoreChange[] = [];
      let anyRemoved = false;
      for await (const at of existingBundles(folderOf(set), z, rect, limits.within)) {
        signal?.throwIfAborted();
        const { change, removed } = await writer.run('edit', [{ set, z, ...at, rect, edit }]);
        done.push(change);
        anyRemoved ||= removed;
      }
      const syncing = anyRemoved && limits.before !== undefined ? syncFolder(`${folderOf(set)}/${z}`) : null;
      if (anyRemoved) await Promise.all([syncing, waitForReaders()]);
      return sumOfChanges(done);
    },

    async *tileSets(layer) {
      if (layer !== null) return yield* tileSetsBelow(layerFolder(layout, layer));
      for await (const name of listFolders(layout.layers)) yield* tileSetsBelow(`${layout.layers}/${name}`);
    },

    async ticket(layer, place) {
      writer.start();
      try {
        return await access.patiently(() => generations.ticket(layer, place));
      } catch (error) {
        throw storeFailure(error);
      }
    },
    async raiseGeneration(layer, places, effect) {
      const number = await writer.run('raise', [layer, places, effect]);
      if (effect) await clock.sleep(READERS_LEASE);
      return number;
    },
    openMarks: async () => marks.list(),
    closeMark: (_, number) => removeMark(layout, number),

    async close() {
      await blocks.close();
      await access.close();
      await writer.close();
      await sweeper?.close();
      generations.close();
    },

    getNow(set, tile) {
      const key = keyOfTile(tile.x, tile.y);
      const folder = folderHolding(set, tile);
      const open = access.now(() => marks.current());
      const found = open && access.readTileNow(folder, key);
      if (!open || !found?.row) return found && null;
      const stored = storedTile(folder, key, found.row);
      // `get` removes a damaged one.
      return stored ? open.shown(set, tile, stored, found.row.ticket) : undefined;
    },

    generation: (layer, place) => access.patiently(() => generations.read(layer, place)),
    drop: (layer, set) => dropFolder(set ? folderOf(set) : layerFolder(layout, layer)),
    sweeping: () => measureTrash(layout.trash),
    raiseGenerations: (layers) => writer.run('raiseAll', [layers]),

    async pageWith(set, { z, x, y }) {
      const at = { bundleX: bundleIndexOf(x), bundleY: bundleIndexOf(y) };
      const { first, last } = keysOfPage(pageOfKey(keyOfTile(x, y)));
      const folder = folderHolding(set, { z, x, y });
      const open = currentMarks();
      const rows = (await access.read(folder, (bundle) => bundle.range().all(first, last))) ?? [];
      return rows.flatMap((row) => {
        const place = { z, ...tilePlace(at, row.key) };
        const stored = storedTile(folder, row.key, row);
        const shown = stored && open.shown(set, place, stored, row.ticket);
        return shown ? [{ ...place, ...shown }] : [];
      });
    },

    async *parts(set, z, rect) {
      for await (const at of bundlesTouching(folderOf(set), z, rect)) {
        const part = intersectRects(blockAt(at.bundleX, at.bundleY, BUNDLE_SIZE), rect);
        const covered = new Set(Array.from(coverOfBundle(at.bundleX, at.bundleY, rect), ({ page }) => page));
        const touched = (await pagesOf(set, z, at)).filter(({ page }) => covered.has(page));
        if (part && touched.length > 0) yield { rect: part, ...sumOfChanges(touched) };
      }
    },

    /** Whole pages by their statistics. */
    async count(set, z, rect, createdBefore = FOREVER) {
      let total = NO_CHANGE;
      for await (const at of bundlesTouching(folderOf(set), z, rect)) {
        const counts = new Map((await pagesOf(set, z, at)).map((row) => [row.page, row]));
        for (const { page, whole, ranges } of coverOfBundle(at.bundleX, at.bundleY, rect)) {
          const known = counts.get(page);
          if (!known) continue;
          const counted =
            whole && createdBefore === FOREVER
              ? [known]
              : await readBundle(set, z, at, ({ countRange }) =>
                  ranges.map(({ first, last }) => countRange().get(first, last, createdBefore)),
                );
          total = sumOfChanges([total, ...(counted ?? [])]);
        }
        await nextTurn();
      }
      return total;
    },

    async *pages(set) {
      for await (const z of listLevels(folderOf(set))) {
        for await (const at of listBundles(folderOf(set), z)) {
          for (const row of await pagesOf(set, z, at)) yield pageStatistics(set, z, at, row);
        }
      }
    },

    blocks: (since) => blocks.changes(since),
    pagesIn: (ids) => blocks.pagesIn(ids),
    recount: (id) => writer.run('recount', [`${layout.layers}/${id}`]),
  });
}

async function prepare(layout: BundleLayout, clock: Clock): Promise<Generations> {
  checkSqliteVersion();
  try {
    // Made ahead: a full disk has no room for them, and truncating needs the second.
    for (const folder of [layout.layers, layout.trash]) mkdirSync(folder, { recursive: true });
    return await patiently(() => openGenerations(layout, 0), clock);
  } catch (error) {
    throw storeFailure(error);
  }
}
