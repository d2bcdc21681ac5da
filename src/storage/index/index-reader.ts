import { type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import { blockAt, type TileRect } from '../../domain/tile-rect.ts';
import { getOrCreate, remembered } from '../../lib/get-or-create.ts';
import type { Ticket, TilePlace } from '../store.ts';
import { Directory, PACK_SIZE, packOf } from './directory.ts';
import type { IndexFile } from './index-file.ts';
import { MarkFilter } from './mark-filter.ts';
import { edgesOf, levelHash, type MarkHere, type MarkRow, marksHere } from './mark-rows.ts';

/**
 * Reads the index of a local store: packs (8 × 8 tiles in one row) and the marks that hide or outdate their tiles. A
 * pack's makings: the ticket and times of each of its tiles. Writers with tickets before a mark's `number` are refused;
 * its `hides` is the number for readers while it is `open`; `raises` has a row for each open raise. See `marks.ts`.
 */

/** A pack and the open marks over it at the same moment; `x` and `y` count packs. */
export interface ShownPack {
  readonly set: number;
  readonly x: number;
  readonly y: number;
  readonly directory: Directory;
  readonly marks: readonly MarkHere[];
}

/** Where to continue. Packs are read by bands of 32 rows of packs; -1 is before the first band. */
export interface PackCursor {
  readonly band: number;
  readonly x: number;
  readonly y: number;
}

export const FIRST_PACK: PackCursor = { band: -1, x: 0, y: 0 };

export interface PackRow {
  readonly id: number;
  readonly band: number;
  readonly x: number;
  readonly y: number;
  readonly detail: Buffer;
}

/** Rows of packs in a band. SQL for PostgreSQL has `y >> 5`. */
const PACKS_IN_BAND = 32;
/** Limit of bands that one call visits. */
const MAX_BANDS = 64;

const AT_PLACE = `FROM mark_places r JOIN marks m ON m.id = r.mark
  WHERE r.min_level = @level AND r.max_level = @level AND r.min_x <= @maxX AND r.max_x >= @minX AND r.min_y <= @maxY
    AND r.max_y >= @minY AND m.layer = @layer AND r.grid_set = @gridSet AND r.z = @z`;

/** Layer-wide marks have the key ''; the index on `key` finds them quickly. */
const MARKS_AT = `
  SELECT m.hides AS number, m.effect, r.min_x, r.max_x, r.min_y, r.max_y, r.parts ${AT_PLACE} AND m.open = 1
  UNION ALL SELECT hides, effect, NULL, NULL, NULL, NULL, NULL FROM marks WHERE layer = @layer AND key = '' AND open = 1`;

interface FoundPack {
  readonly set: number;
  readonly detail: Buffer | null;
  /** The latest number of an open raise in the store; null if there is none. */
  readonly raised: number | null;
}

/** A row of `MARKS_AT`. */
export type WrittenMark = readonly [number, string, number | null, number, number, number, string | null];

/** Reads one index. `version`, `setRow` and `marks` run one statement each; results of several may differ in time. */
export class IndexReader {
  readonly #db: IndexFile;
  readonly #version;
  readonly #pack;
  readonly #packsInBand;
  readonly #nextBand;
  readonly #marksAt;
  readonly #setRow;
  readonly #generationAt;
  readonly #generation;
  readonly #nextTicket;
  readonly #filter: MarkFilter;

  /** `version` queries a number that changes with tiles and marks; the default one does when another connection writes. */
  constructor(db: IndexFile, version = 'PRAGMA data_version') {
    this.#db = db;
    this.#filter = new MarkFilter(db);
    this.#version = db.prepare<[], number>(version).pluck();
    this.#pack = db.prepare<[number, number, number, number, string], FoundPack>(`
      SELECT s.id AS "set", p.detail, (SELECT max(number) FROM raises) AS raised
      FROM tile_sets s LEFT JOIN packs p ON p.tile_set = s.id AND p.z = ? AND p.band = ? AND p.x = ? AND p.y = ?
      WHERE s.identity = ? AND s.dropped_at IS NULL`);
    this.#packsInBand = db.prepare<number[], PackRow>(`
      SELECT id, band, x, y, detail FROM packs WHERE tile_set = ? AND z = ? AND band = ? AND (x, y) > (?, ?) AND x BETWEEN ? AND ?
        AND y BETWEEN ? AND ? ORDER BY x, y LIMIT ?`);
    this.#nextBand = db
      .prepare<[number, number, number], number | null>(
        'SELECT min(band) FROM packs WHERE tile_set = ? AND z = ? AND band > ?',
      )
      .pluck();
    this.#marksAt = db.prepare<object, WrittenMark>(MARKS_AT).raw();
    this.#setRow = db
      .prepare<[string], number>('SELECT id FROM tile_sets WHERE identity = ? AND dropped_at IS NULL')
      .pluck();
    this.#generationAt = db
      .prepare<object, number | null>(`
        SELECT max(number) FROM (
          SELECT m.number ${AT_PLACE}
          UNION ALL SELECT number FROM marks WHERE layer = @layer AND key = '')`)
      .pluck();
    // Open and closed marks apart: each is one look-up in the index of `layer, open, number`.
    this.#generation = db
      .prepare<object, number>(`
        SELECT max(ifnull((SELECT max(number) FROM marks WHERE layer = @layer AND open = 0), 0),
          ifnull((SELECT max(number) FROM marks WHERE layer = @layer AND open = 1), 0))`)
      .pluck();
    this.#nextTicket = db
      .prepare<[], number>('UPDATE tickets SET last = last + 1 WHERE id = 1 RETURNING last')
      .pluck();
  }

  version(): number {
    return this.#version.get() ?? 0;
  }

  /** Takes a ticket, which is the only write of a reader. */
  ticket(layer: string, place?: TilePlace): Ticket {
    const number = this.#nextTicket.get() ?? 0;
    return { number, generation: this.generation(layer, place) };
  }

  /** The latest number of any mark of the layer, or of one that touches the place. */
  generation(layer: string, place?: TilePlace): number {
    const latest = this.#generation.get({ layer: JSON.stringify(layer) }) ?? 0;
    if (!place || latest === 0) return latest;
    const { gridSet, z, rect } = place;
    return this.#generationAt.get(placeParameters(layer, gridSet, z, rect)) ?? 0;
  }

  /** Whether a mark of the place has a later number than the ticket. */
  isOutdated({ layer, gridSet }: TileSetKey, z: number, rect: TileRect, ticket: number): boolean {
    return this.generation(layer) > ticket && this.generation(layer, { gridSet, z, rect }) > ticket;
  }

  /** The number of a tile set in the index; null if it has none. */
  setRow(set: TileSetKey): number | null {
    return this.#setRow.get(identityOf(set)) ?? null;
  }

  /** The pack in this place with the marks of the same moment; null if there is none, or its row is damaged. */
  pack(set: TileSetKey, z: number, x: number, y: number): ShownPack | null {
    const found = this.#findFiltered(set, z, x, y);
    const pack = shown(found, z, x, y, []);
    const latest = found?.raised ?? 0;
    if (!pack || latest === 0) return pack;
    // The filter contains all open marks up to the number `known`.
    const isFiltered = latest <= this.#filter.known;
    if (isFiltered && !this.#filter.mayConcern(set, z, x, y, pack.directory.makings)) return pack;
    return this.#db.transaction(() => {
      const marks = this.marks(set, z, blockAt(x, y, PACK_SIZE));
      return shown(this.#find(set, z, x, y), z, x, y, marks);
    })();
  }

  /** Reads the row again after extending the filter, which lacks marks closed in between: their effect is in the row now. */
  #findFiltered(set: TileSetKey, z: number, x: number, y: number): FoundPack | undefined {
    const found = this.#find(set, z, x, y);
    const latest = found?.raised ?? 0;
    if (latest <= this.#filter.known) return found;
    this.#filter.extend(latest);
    return this.#find(set, z, x, y);
  }

  #find(set: TileSetKey, z: number, x: number, y: number): FoundPack | undefined {
    return this.#pack.get(z, bandOf(y), x, y, identityOf(set));
  }

  /** Open marks over a rectangle. */
  marks(set: TileSetKey, z: number, rect: TileRect): readonly MarkHere[] {
    const rows = this.#marksAt.all(placeParameters(set.layer, set.gridSet, z, rect));
    return marksHere(rows.map(markRow), set, rect);
  }

  /** The next packs that touch `rect`, and where to continue; null after the last. */
  packsWithin(set: number, z: number, rect: TileRect, after: PackCursor, limit: number) {
    const [minX, maxX, minY, maxY] = [rect.minX, rect.maxX, rect.minY, rect.maxY].map(packOf) as Edges;
    const rows: PackRow[] = [];
    let cursor: PackCursor | null = after.band < 0 ? this.#bandAfter(set, z, bandOf(minY) - 1, minX) : after;
    for (let bands = 0; cursor && bands < MAX_BANDS && rows.length < limit; bands++) {
      if (cursor.band > bandOf(maxY)) return { rows, next: null };
      const { band, x, y } = cursor;
      const count = limit - rows.length;
      const found = this.#packsInBand.all(set, z, band, x, y, minX, maxX, minY, maxY, count);
      rows.push(...found);
      const last = found.at(-1);
      cursor = last && found.length === count ? last : this.#bandAfter(set, z, band, minX);
    }
    return { rows, next: cursor };
  }

  #bandAfter(set: number, z: number, after: number, minX: number): PackCursor | null {
    const band = this.#nextBand.get(set, z, after);
    return typeof band === 'number' ? { band, x: minX, y: -1 } : null;
  }
}

/** Cached, because composing an identity takes longer than finding a pack. */
const identityOf = remembered(tileSetId);

function shown(
  found: FoundPack | undefined,
  z: number,
  x: number,
  y: number,
  marks: readonly MarkHere[],
): ShownPack | null {
  const directory = found?.detail && Directory.read(found.detail, { set: found.set, z, x, y });
  return found && directory ? { set: found.set, x, y, directory, marks } : null;
}

type Edges = [minX: number, maxX: number, minY: number, maxY: number];

export function bandOf(y: number): number {
  return Math.floor(y / PACKS_IN_BAND);
}

function placeParameters(layer: string, gridSet: string, z: number, rect: TileRect) {
  const [minX, maxX, minY, maxY] = edgesOf(rect);
  const names = { layer: JSON.stringify(layer), gridSet: JSON.stringify(gridSet) };
  return { ...names, level: levelHash(layer, gridSet, z), z, minX, maxX, minY, maxY };
}

export function markRow([number, effect, minX, maxX, minY, maxY, parts]: WrittenMark): MarkRow {
  return { number, effect, rect: minX === null ? null : { minX, maxX, minY, maxY }, parts };
}

interface CachedPack {
  readonly x: number;
  readonly y: number;
  /** `IndexReader.version` before the pack was read. */
  readonly version: number;
  /** Null if there is no pack in this place. */
  readonly pack: ShownPack | null;
}

/** The packs of a tile set by zoom, then by place. */
type Levels = Map<number, CachedPack>[];

/** Limit of cached packs, of some kilobytes each, and of their tile sets. */
const MAX_PACKS = 8192;
/** Packs along a side at zoom 30: 2 ** 30 tiles, 8 to a pack. Places may share a key, so `find` also compares x and y. */
const SIDE = 2 ** 27;

/** A cache of packs with their marks. Entries are used only while the index is unchanged. */
export class ShownPacks {
  readonly #reader: IndexReader;
  #bySet = new Map<string, Levels>();
  #byObject = new WeakMap<TileSetKey, Levels>();
  #size = 0;

  constructor(reader: IndexReader) {
    this.#reader = reader;
  }

  /** The current state; `x` and `y` count packs. */
  find(set: TileSetKey, z: number, x: number, y: number): ShownPack | null {
    const version = this.#reader.version();
    if (this.#size + this.#bySet.size > MAX_PACKS) this.#forgetAll();
    const levels = this.#levels(set);
    const key = x * SIDE + y;
    const known = levels[z]?.get(key);
    if (known && known.version === version && known.x === x && known.y === y) return known.pack;
    const pack = this.#reader.pack(set, z, x, y);
    if (!known) this.#size++;
    levels[z] ??= new Map<number, CachedPack>();
    levels[z].set(key, { x, y, version, pack });
    return pack;
  }

  #levels(set: TileSetKey): Levels {
    return getOrCreate(this.#byObject, set, () => getOrCreate(this.#bySet, tileSetId(set), () => []));
  }

  #forgetAll(): void {
    this.#bySet = new Map();
    this.#byObject = new WeakMap();
    this.#size = 0;
  }
}
