/**
 * Folders with lists of expired tiles. A file is applied when it has not changed for a while, and then moved away; the
 * move is the acknowledgement.
 */
import { constants, createReadStream, type Stats } from 'node:fs';
import { access, mkdir, readdir, rename, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { expandBounds, polygonOfBounds } from '../../domain/bounds.ts';
import type { ChangedPlace } from '../../domain/place-in-grid-set.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import { DEEPEST_ZOOM } from '../../domain/tile-rect.ts';
import { errorCode } from '../../lib/error-code.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { cutLines } from '../../lib/scan-text.ts';
import type { FeedSettingsOf } from '../change-options.ts';
import type { PolledFeed, PolledFeedTools } from './polled-feed.ts';

/** The state of a file, and since when. */
interface Sighting {
  readonly stamp: string;
  /** Time of `Clock.monotonic`. */
  readonly since: number;
  /** It was applied in this state, and could not be moved. */
  readonly applied: boolean;
}

const APPLIED = 'applied';
/** Milliseconds for which a file must not change: a program may be writing it. */
const QUIET = 2000;
const POLL_INTERVAL_MS = 500;
/** Tiles that are applied together. */
const MAX_TILES = 20_000;
/** No line with a tile has more characters. */
const MAX_LINE = 80;

export function createTileListFeed(
  feed: FeedSettingsOf<'tile-list'>,
  { intake, clock }: PolledFeedTools,
): PolledFeed {
  const { folder } = feed;
  const target = join(folder, APPLIED);
  let seen = new Map<string, Sighting>();

  async function* filesIn(inside: string): AsyncGenerator<string> {
    const entries = await readdir(inside, { withFileTypes: true }).catch(ignoreAbsent);
    for (const entry of entries ?? []) {
      const path = join(inside, entry.name);
      if (entry.name.startsWith('.') || path === target) continue;
      if (entry.isDirectory()) yield* filesIn(path);
      if (entry.isFile()) yield path;
    }
  }

  /** Records the state of a file; returns true when it has not changed for long enough. */
  function sight(path: string, stats: Stats, now: number, sightings: Map<string, Sighting>): boolean {
    const stamp = stampOf(stats);
    const before = seen.get(path);
    const sighting = before?.stamp === stamp ? before : { stamp, since: now, applied: false };
    sightings.set(path, sighting);
    return now - sighting.since >= QUIET;
  }

  /** Piece by piece; the file counts once. Returns the last line that cannot be used. */
  async function applyFile(path: string, signal: AbortSignal): Promise<string | null> {
    let fault: string | null = null;
    let tiles: TileIndex[] = [];
    const take = async (count: 0 | 1) => {
      const changes = [{ layers: null, place: placeOfTiles(tiles) }];
      tiles = [];
      await intake.accept({ changes, received: count, applied: count });
    };
    let number = 0;
    for await (const cut of cutLines(createReadStream(path, { encoding: 'latin1', signal }), MAX_LINE)) {
      const line = cut.trim();
      number++;
      if (line === '') continue;
      const tile = readTile(line);
      if (tile) tiles.push(tile);
      else fault = `${relative(folder, path)}, line ${number}: must be z/x/y, not ${JSON.stringify(line)}`;
      if (tiles.length >= MAX_TILES) await take(0);
    }
    signal.throwIfAborted();
    await take(1);
    return fault;
  }

  async function takeFile(path: string, signal: AbortSignal): Promise<void> {
    const before = seen.get(path);
    if (!before?.applied) {
      const fault = await applyFile(path, signal);
      if (fault !== null) await intake.works(fault);
      // A writer that came back: the file is read again when it is quiet.
      if (stampOf(await stat(path)) !== before?.stamp) return;
      if (before) seen.set(path, { ...before, applied: true });
    }
    const moved = await moveAway(path);
    seen.delete(path);
    if (stampOf(await stat(moved)) === before?.stamp) return;
    await applyFile(moved, signal);
  }

  async function moveAway(path: string): Promise<string> {
    for (let suffix = 0; ; suffix++) {
      const moved = join(target, suffix === 0 ? basename(path) : `${basename(path)}.${suffix}`);
      if (await stat(moved).catch(ignoreAbsent)) continue;
      await rename(path, moved);
      return moved;
    }
  }

  return {
    async poll(signal) {
      await refuseReadOnly(folder, target);
      const now = clock.monotonic();
      const sightings = new Map<string, Sighting>();
      const quiet: string[] = [];
      for await (const path of filesIn(folder)) {
        const stats = await stat(path).catch(ignoreAbsent);
        if (stats && sight(path, stats, now, sightings)) quiet.push(path);
      }
      seen = sightings;
      await intake.waiting(sightings.size);
      for (const path of quiet) {
        if (signal.aborted) return;
        await takeFile(path, signal);
        await intake.waiting(seen.size);
      }
    },
    rest: (signal) => clock.sleep(POLL_INTERVAL_MS, signal),
  };
}

function stampOf({ size, mtimeMs, ino }: Stats): string {
  return `${size} ${mtimeMs} ${ino}`;
}

async function refuseReadOnly(folder: string, target: string): Promise<void> {
  try {
    // Not recursively: a missing folder, perhaps on a disk that is not mounted, must not be created again.
    await mkdir(target).catch(ignoreExisting);
    await access(folder, constants.W_OK);
    // With the dot only a folder is accepted.
    await access(`${target}/.`, constants.W_OK);
  } catch (error) {
    const why =
      errorCode(error) === 'ENOENT' ? 'there is no such folder' : `it cannot be used (${errorCode(error)})`;
    throw new Error(`folder ${folder}: ${why}; files are read there and moved to ${APPLIED}/`);
  }
}

function ignoreAbsent(error: unknown): null {
  if (errorCode(error) === 'ENOENT') return null;
  throw error;
}

function ignoreExisting(error: unknown): void {
  if (errorCode(error) !== 'EEXIST') throw error;
}

/** Tiles beside and below each other, of one zoom. */
interface TileBlock extends TileIndex {
  columns: number;
  rows: number;
}

/** The format of expired tiles of osm2pgsql and imposm: zoom, column, row from the top. */
const TILE = /^(\d{1,2})\/(\d{1,10})\/(\d{1,10})$/;
const WEB_MERCATOR = 3857;
const HALF_WORLD = 20037508.342789244;
/** Metres: grid sets round the size of the world, which must not touch neighbouring tiles. */
const INSET = 0.01;

/** Null unless it is a tile of web mercator. */
export function readTile(text: string): TileIndex | null {
  const [, z = NaN, x = NaN, y = NaN] = TILE.exec(text)?.map(Number) ?? [];
  const across = 2 ** z;
  return z <= DEEPEST_ZOOM && x < across && y < across ? { z, x, y } : null;
}

/** Neighbours become one box. */
function placeOfTiles(tiles: Iterable<TileIndex>): ChangedPlace {
  const sorted = [...tiles].sort((a, b) => a.z - b.z || a.y - b.y || a.x - b.x);
  const runs: TileBlock[] = [];
  for (const tile of sorted) {
    const last = runs.at(-1);
    const joins = last && last.z === tile.z && last.y === tile.y && tile.x <= last.x + last.columns;
    if (joins) last.columns = Math.max(last.columns, tile.x - last.x + 1);
    else runs.push({ ...tile, columns: 1, rows: 1 });
  }
  const blocks = new Map<string, TileBlock[]>();
  for (const run of runs) {
    const above = getOrCreate(blocks, `${run.z}/${run.x}/${run.columns}`, () => []);
    const last = above.at(-1);
    if (last && last.y + last.rows === run.y) last.rows++;
    else above.push(run);
  }
  return { srs: WEB_MERCATOR, polygons: [...blocks.values()].flat().map(polygonOfBlock) };
}

function polygonOfBlock({ z, x, y, columns, rows }: TileBlock) {
  const span = (2 * HALF_WORLD) / 2 ** z;
  const [minX, maxY] = [x * span - HALF_WORLD, HALF_WORLD - y * span];
  const inset = Math.min(INSET, span / 100);
  const bounds = { minX, minY: maxY - rows * span, maxX: minX + columns * span, maxY };
  return polygonOfBounds(expandBounds(bounds, -inset, -inset));
}
