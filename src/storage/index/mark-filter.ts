import { MAX_PLACES } from '../../db/migrations/create-index.ts';
import type { TileSetKey } from '../../domain/tile-key.ts';
import type { TileRect } from '../../domain/tile-rect.ts';
import { getOrCreate, remembered } from '../../lib/get-or-create.ts';
import type { Making } from '../pack-object.ts';
import type { MarkEffect } from '../store.ts';
import { packOf } from './directory.ts';
import type { IndexFile } from './index-file.ts';
import { levelHash } from './mark-rows.ts';

/** The latest number and the latest `createdBefore` of some marks, none of which selects a tile later than either. */
interface Marked {
  number: number;
  createdBefore: number;
}

/** A row for each place of a raised mark; the whole layer has one without a place. */
interface RaisedPlace extends TileRect {
  readonly number: number;
  readonly layer: string;
  readonly effect: string;
  readonly level: number | null;
}

/** Raises that are read in one turn of the event loop: a few milliseconds. */
const RAISES_IN_A_TURN = 500;
/** Limit of cells: some megabytes. */
const MAX_CELLS = 100_000;
/** More than the packs along a side of any zoom. */
const SIDE = 2 ** 27;

/**
 * The places of open marks in memory, so that most packs need no search for marks in the index. It contains all open marks
 * up to the number `known`, and some that have been closed.
 */
export class MarkFilter {
  /** The latest number read. No earlier one is missed, because numbers of marks rise in the order of their commits. */
  known = 0;
  readonly #raised;
  readonly #layers = new Map<string, Marked>();
  /** By level (see `levelHash`), then by scale n: cells of 2ⁿ × 2ⁿ packs, so that a place touches four at most. */
  readonly #levels = new Map<number, Map<number, Marked>[]>();
  #cells = 0;
  /** The latest number when the filter was last emptied. A full filter is emptied again `MAX_CELLS` numbers later. */
  #begun = 0;

  constructor(db: IndexFile) {
    this.#raised = db.prepare<[number], RaisedPlace>(`
      SELECT r.number, m.layer, r.effect, p.min_level AS level, p.min_x AS minX, p.max_x AS maxX, p.min_y AS minY, p.max_y AS maxY
      FROM (SELECT * FROM raises WHERE number > ? ORDER BY number LIMIT ${RAISES_IN_A_TURN}) r JOIN marks m ON m.id = r.mark
      LEFT JOIN json_each(m.places) e LEFT JOIN mark_places p ON p.id = m.id * ${MAX_PLACES} + e.key ORDER BY r.number`);
  }

  /** Reads some marks after `known`; `latest` is the last number of all. Does nothing while the filter is full. */
  extend(latest: number): void {
    if (this.#cells > MAX_CELLS && latest > this.#begun + MAX_CELLS) this.#clear(latest);
    if (this.#cells > MAX_CELLS) return;
    let last = this.known;
    for (const row of this.#raised.iterate(this.known)) {
      this.#add(row);
      last = row.number;
    }
    // Set at the end, because a mark has several rows, and reading them may fail.
    this.known = last;
  }

  /** Whether a mark may hide or outdate a tile of a pack; `makings` are the tickets and times of its tiles. */
  mayConcern(set: TileSetKey, z: number, x: number, y: number, makings: readonly Making[]): boolean {
    const whole = this.#layers.get(set.layer);
    if (whole && concernsAny(whole, makings)) return true;
    const levels = levelsOf(set);
    levels[z] ??= levelHash(set.layer, set.gridSet, z);
    const scales = this.#levels.get(levels[z]) ?? [];
    return scales.some((cells, scale) => {
      const marked = cells.get(cellAt(x >> scale, y >> scale));
      return marked !== undefined && concernsAny(marked, makings);
    });
  }

  #add({ number, layer, effect, level, ...rect }: RaisedPlace): void {
    const { createdBefore = Number.POSITIVE_INFINITY } = JSON.parse(effect) as MarkEffect;
    const mark = { number, createdBefore };
    if (level === null) addTo(this.#layers, JSON.parse(layer) as string, mark);
    else
      this.#addPlace(
        getOrCreate(this.#levels, level, () => []),
        rect,
        mark,
      );
  }

  #addPlace(scales: Map<number, Marked>[], rect: TileRect, mark: Marked): void {
    const [minX, maxX, minY, maxY] = [rect.minX, rect.maxX, rect.minY, rect.maxY].map(packOf) as Edges;
    let scale = 0;
    while ((maxX >> scale) - (minX >> scale) > 1 || (maxY >> scale) - (minY >> scale) > 1) scale++;
    while (scales.length <= scale) scales.push(new Map());
    for (let x = minX >> scale; x <= maxX >> scale; x++)
      for (let y = minY >> scale; y <= maxY >> scale; y++, this.#cells++)
        addTo(scales[scale] ?? new Map(), cellAt(x, y), mark);
  }

  /** Empties the filter. Open marks are then read again. */
  #clear(latest: number): void {
    this.#layers.clear();
    this.#levels.clear();
    this.#cells = 0;
    this.#begun = latest;
    this.known = 0;
  }
}

type Edges = [minX: number, maxX: number, minY: number, maxY: number];

/** `levelHash` by zoom, cached for each tile set. */
const levelsOf = remembered<TileSetKey, number[]>(() => []);

/** Beyond `SIDE`, two cells may share a key: the filter then reports too many marks, never too few. */
function cellAt(x: number, y: number): number {
  return x * SIDE + y;
}

function addTo<Key>(marked: Map<Key, Marked>, key: Key, { number, createdBefore }: Marked): void {
  const known = getOrCreate(marked, key, () => ({ number, createdBefore }));
  known.number = Math.max(known.number, number);
  known.createdBefore = Math.max(known.createdBefore, createdBefore);
}

function concernsAny({ number, createdBefore }: Marked, makings: readonly Making[]): boolean {
  return makings.some((making) => making.ticket < number && making.createdAt < createdBefore);
}
