import { type TileIndex, type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import { rectContains, rectOfTile, rectsIn, sizeOfRect, type TileRect } from '../domain/tile-rect.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import type { StoredTile, TilePlace } from '../storage/store.ts';
import type { CachedTile } from './tile-pipeline.ts';

/** Cost of an entry besides its bytes: its objects and the head of its response, rounded up. */
const ENTRY_OVERHEAD_BYTES = 1024;
/** Below it on both axes, a place fits into one integer, which is cheaper as a key than a string. */
const NUMERIC_KEY_LIMIT = 2 ** 26;

type PlaceKey = number | string;

interface Entry {
  readonly bucket: Bucket;
  readonly tile: TileIndex;
  readonly key: PlaceKey;
  readonly answer: CachedTile;
  readonly cost: number;
  newer: Entry | null;
  older: Entry | null;
}

/** The tiles of a tile set, and its pending reads of the store. */
interface Bucket {
  readonly set: TileSetKey;
  readonly levels: Map<PlaceKey, Entry>[];
  readonly loads: Set<Load>;
  tiles: number;
  /** False after removal, once it is empty. */
  live: boolean;
}

export interface FoundBeside {
  readonly tile: TileIndex;
  readonly stored: StoredTile;
}

/** A pending read of the store, invalidated if its tile is dropped in the meantime. */
export interface Load {
  readonly tile: TileIndex;
  readonly bucket: Bucket;
  valid: boolean;
  /** Whether any tiles of that zoom were dropped or replaced in the meantime. */
  disturbed: boolean;
}

/**
 * Tiles in memory before the store, up to a limit of bytes; the least recently used are removed first. Dropping tiles also
 * invalidates pending reads of the store, so that no copy outlives its original.
 */
export class MemoryTier {
  readonly #maxBytes: number;
  readonly #layers = new Map<string, Map<string, Bucket>>();
  readonly #bucketOfKey = new WeakMap<TileSetKey, Bucket>();
  #newest: Entry | null = null;
  #oldest: Entry | null = null;
  #bytes = 0;
  #tiles = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get tiles(): number {
    return this.#tiles;
  }

  get(set: TileSetKey, tile: TileIndex): CachedTile | null {
    const entry = this.#find(set)?.levels[tile.z]?.get(placeKey(tile.x, tile.y));
    if (!entry) return null;
    if (entry !== this.#newest) {
      this.#unlink(entry);
      this.#linkNewest(entry);
    }
    return entry.answer;
  }

  has(set: TileSetKey, tile: TileIndex): boolean {
    return this.#find(set)?.levels[tile.z]?.has(placeKey(tile.x, tile.y)) ?? false;
  }

  /** Returns what a later `get` returns, if there is room for the tile. */
  put(set: TileSetKey, tile: TileIndex, stored: StoredTile): CachedTile {
    const { createdAt, checksum, freshUntil } = stored;
    const bytes = this.#maxBytes === 0 ? stored.bytes : ownBytes(stored.bytes);
    const answer: CachedTile = { bytes, createdAt, checksum, freshUntil, outcome: 'HIT' };
    if (this.#maxBytes === 0) return answer;
    const cost = bytes.length + ENTRY_OVERHEAD_BYTES;
    this.drop(set, tile.z, rectOfTile(tile));
    if (cost > this.#maxBytes) return answer;
    const bucket = this.#bucketFor(set);
    const { z, x, y } = tile;
    this.#add({ bucket, tile: { z, x, y }, key: placeKey(x, y), answer, cost, newer: null, older: null });
    while (this.#bytes > this.#maxBytes && this.#oldest) this.#remove(this.#oldest);
    return answer;
  }

  /** To be called before reading the store, and always followed by `endLoad`. */
  beginLoad(set: TileSetKey, tile: TileIndex): Load {
    const bucket = this.#bucketFor(set);
    const load: Load = { tile, bucket, valid: true, disturbed: false };
    bucket.loads.add(load);
    return load;
  }

  /** Caches the tile unless it was dropped or replaced during the read; those beside it, only if none of the zoom was. */
  endLoad(load: Load, found: StoredTile | null, beside: readonly FoundBeside[] = []): void {
    const { bucket, tile } = load;
    bucket.loads.delete(load);
    const others = load.disturbed ? [] : beside.filter((other) => !this.has(bucket.set, other.tile));
    for (const other of others) this.put(bucket.set, other.tile, other.stored);
    if (found && load.valid) this.put(bucket.set, tile, found);
    this.#retireIfEmpty(bucket);
  }

  drop(set: TileSetKey, z: number, rect: TileRect): void {
    const bucket = this.#find(set);
    if (!bucket) return;
    for (const load of bucket.loads) {
      if (load.tile.z !== z) continue;
      load.disturbed = true;
      if (rectContains(rect, load.tile.x, load.tile.y)) load.valid = false;
    }
    for (const entry of entriesWithin(bucket, z, rect)) this.#remove(entry);
  }

  /** Drops tiles in every format and for all parameters. */
  dropPlace(layer: string, { gridSet, z, rect, parts }: TilePlace): void {
    for (const { set, levels, loads } of this.#layers.get(layer)?.values() ?? []) {
      const isEmpty = loads.size === 0 && (levels[z]?.size ?? 0) === 0;
      if (set.gridSet !== gridSet || isEmpty) continue;
      for (const part of parts ? rectsIn(parts) : [rect]) this.drop(set, z, part);
    }
  }

  dropAll(): void {
    for (const layer of [...this.#layers.keys()]) this.dropLayer(layer);
  }

  dropLayer(layer: string): void {
    for (const bucket of this.#layers.get(layer)?.values() ?? []) {
      for (const load of bucket.loads) {
        load.valid = false;
        load.disturbed = true;
      }
      for (const level of bucket.levels) {
        for (const entry of level?.values() ?? []) this.#remove(entry);
      }
    }
  }

  #find(set: TileSetKey): Bucket | undefined {
    const known = this.#bucketOfKey.get(set);
    if (known?.live) return known;
    const bucket = this.#layers.get(set.layer)?.get(tileSetId(set));
    if (bucket) this.#bucketOfKey.set(set, bucket);
    return bucket;
  }

  #bucketFor(set: TileSetKey): Bucket {
    const known = this.#find(set);
    if (known) return known;
    const bucket: Bucket = { set, levels: [], loads: new Set(), tiles: 0, live: true };
    getOrCreate(this.#layers, set.layer, () => new Map<string, Bucket>()).set(tileSetId(set), bucket);
    this.#bucketOfKey.set(set, bucket);
    return bucket;
  }

  #add(entry: Entry): void {
    const { levels } = entry.bucket;
    const level = levels[entry.tile.z] ?? new Map<PlaceKey, Entry>();
    levels[entry.tile.z] = level.set(entry.key, entry);
    entry.bucket.tiles++;
    this.#tiles++;
    this.#bytes += entry.cost;
    this.#linkNewest(entry);
  }

  #remove(entry: Entry): void {
    entry.bucket.levels[entry.tile.z]?.delete(entry.key);
    entry.bucket.tiles--;
    this.#tiles--;
    this.#bytes -= entry.cost;
    this.#unlink(entry);
    this.#retireIfEmpty(entry.bucket);
  }

  #retireIfEmpty(bucket: Bucket): void {
    if (!bucket.live || bucket.tiles > 0 || bucket.loads.size > 0) return;
    bucket.live = false;
    const ofLayer = this.#layers.get(bucket.set.layer);
    ofLayer?.delete(tileSetId(bucket.set));
    if (ofLayer?.size === 0) this.#layers.delete(bucket.set.layer);
  }

  #linkNewest(entry: Entry): void {
    entry.newer = null;
    entry.older = this.#newest;
    if (this.#newest) this.#newest.newer = entry;
    this.#newest = entry;
    this.#oldest ??= entry;
  }

  #unlink(entry: Entry): void {
    if (entry.newer) entry.newer.older = entry.older;
    if (entry.older) entry.older.newer = entry.newer;
    if (this.#newest === entry) this.#newest = entry.older;
    if (this.#oldest === entry) this.#oldest = entry.newer;
  }
}

/** Copies a view of a larger buffer, which it would keep alive: the tiles of a metatile share one. */
function ownBytes(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength <= bytes.length + ENTRY_OVERHEAD_BYTES) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

function placeKey(x: number, y: number): PlaceKey {
  return x < NUMERIC_KEY_LIMIT && y < NUMERIC_KEY_LIMIT ? y * NUMERIC_KEY_LIMIT + x : `${x}/${y}`;
}

/** Visits the rectangle or the existing tiles, whichever is fewer. */
function* entriesWithin(bucket: Bucket, z: number, rect: TileRect): Generator<Entry> {
  const level = bucket.levels[z];
  if (!level) return;
  if (sizeOfRect(rect) > level.size) {
    for (const entry of level.values()) if (rectContains(rect, entry.tile.x, entry.tile.y)) yield entry;
    return;
  }
  for (let y = rect.minY; y <= rect.maxY; y++) {
    for (let x = rect.minX; x <= rect.maxX; x++) {
      const entry = level.get(placeKey(x, y));
      if (entry) yield entry;
    }
  }
}
