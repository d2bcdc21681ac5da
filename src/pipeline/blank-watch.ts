import { type BlankArea, blankIsRightIn } from '../domain/blank-area.ts';
import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { type PictureLook, roughly, type Side } from '../raster/picture-look.ts';
import type { FlightPlan } from './flight.ts';

/**
 * `fine`: nothing speaks against it. `suspect`: one colour where its neighbours show something else up to the common
 * edge. `refused`: the same, while the source is failing, as overloaded map servers do.
 */
type BlankVerdict = 'fine' | 'suspect' | 'refused';

interface Seen {
  readonly at: number;
  /** Colours along each edge; null when all of it was of one colour and suspect. */
  readonly edges: PictureLook['edges'] | null;
}

interface Neighbour {
  readonly side: Side;
  readonly column: number;
  readonly row: number;
}

/** Of each neighbour, the edge that faces us. */
const NEIGHBOURS: readonly Neighbour[] = [
  { side: 'bottom', column: 0, row: -1 },
  { side: 'left', column: 1, row: 0 },
  { side: 'top', column: 0, row: 1 },
  { side: 'right', column: -1, row: 0 },
];
const MAX_REMEMBERED = 4096;
/** Bytes of an entry besides its edges, about. */
const ENTRY_BYTES = 256;
/** Bytes: some two thousand photographs of 1024 × 1024. */
const MAX_BYTES = 16 * 1024 ** 2;
/** Milliseconds for which the look of a neighbour counts. */
const MEMORY_MS = 10 * 60_000;
/** Milliseconds after a failure in which a source counts as overloaded. */
const LOAD_MS = 30_000;

export interface BlankWatchOptions {
  readonly clock: Clock;
  /** Areas that administrators have confirmed as blank, besides those in the layer's declaration. */
  readonly areasOf: (layer: string) => Promise<readonly BlankArea[]>;
  readonly suspects: Pick<BlankSuspects, 'note' | 'forget'>;
  readonly maxBytes?: number;
}

/**
 * Tells a sea from a map server that draws nothing because it has too much to do: a sea goes on in the neighbouring
 * pictures, an empty answer ends at the edge. Remembers only colours along edges, and not for long.
 */
export class BlankWatch {
  readonly #clock: Clock;
  readonly #options: BlankWatchOptions;
  readonly #seen: RecentMap<string, Seen>;
  readonly #failedAt = new RecentMap<string, number>(MAX_REMEMBERED);

  constructor(options: BlankWatchOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#seen = new RecentMap(options.maxBytes ?? MAX_BYTES);
  }

  sourceFailed(layer: string): void {
    this.#failedAt.set(layer, this.#clock.monotonic(), 1);
  }

  async judge(plan: FlightPlan, { colour, edges }: PictureLook): Promise<BlankVerdict> {
    if (plan.tiles.bound.layer.blankIsRight) return 'fine';
    const suspect = colour !== null && this.#isSuspect(plan, colour);
    if (colour === null) this.#remember(plan, edges);
    const { z, rect } = plan.metatile;
    const place = { set: plan.tiles.set, z, rect };
    if (!suspect || (await this.#isRight(plan))) {
      this.#options.suspects.forget(place);
      return 'fine';
    }
    this.#remember(plan, null);
    const refused = this.#isOverloaded(plan);
    this.#options.suspects.note({ ...place, refused });
    return refused ? 'refused' : 'suspect';
  }

  async #isRight({ tiles, metatile: { z, rect } }: FlightPlan): Promise<boolean> {
    const { name, blankAreas } = tiles.bound.layer;
    const areas = [...blankAreas, ...(await this.#options.areasOf(name))];
    return blankIsRightIn(areas, tiles.subset.gridSet, z, rect);
  }

  #isSuspect(plan: FlightPlan, colour: number): boolean {
    const { column, row } = plan.metatile;
    const known = NEIGHBOURS.flatMap((neighbour) => {
      const seen = this.#find(keyOf(plan, column + neighbour.column, row + neighbour.row));
      return seen ? [{ facing: seen.edges?.[neighbour.side] ?? null }] : [];
    });
    const pictures = known.filter(({ facing }) => facing !== null);
    if (pictures.length > 0)
      return pictures.every(({ facing }) => facing?.includes(roughly(colour)) === false);
    // In the midst of a run there are only other suspects around.
    return known.length > 0 && this.#isOverloaded(plan);
  }

  #isOverloaded({ tiles }: FlightPlan): boolean {
    const failedAt = this.#failedAt.get(tiles.set.layer);
    return failedAt !== null && this.#clock.monotonic() - failedAt < LOAD_MS;
  }

  #find(key: string): Seen | null {
    const seen = this.#seen.get(key);
    return seen && this.#clock.monotonic() - seen.at < MEMORY_MS ? seen : null;
  }

  #remember(plan: FlightPlan, edges: Seen['edges']): void {
    const key = keyOf(plan, plan.metatile.column, plan.metatile.row);
    this.#seen.set(key, { at: this.#clock.monotonic(), edges }, ENTRY_BYTES + bytesOf(edges));
  }
}

function keyOf({ tiles, metatile }: FlightPlan, column: number, row: number): string {
  return `${metatile.z}/${column}/${row} ${tileSetId(tiles.set)}`;
}

function bytesOf(edges: Seen['edges']): number {
  return edges ? Object.values(edges).reduce((sum, { byteLength }) => sum + byteLength, 0) : 0;
}

interface SuspectPlace {
  readonly set: TileSetKey;
  readonly z: number;
  readonly rect: TileRect;
}

export interface BlankSuspect extends SuspectPlace {
  /** Milliseconds since 1970, of the last time. */
  readonly at: number;
  readonly times: number;
  /** Its source was failing: it was neither kept nor served. */
  readonly refused: boolean;
}

const MAX_KEPT = 1000;
/** Milliseconds. */
const KEPT_FOR = 24 * 3_600_000;

/** The latest suspects of all processes of the server, for an administrator to look at. */
export class BlankSuspects {
  readonly #clock: Pick<Clock, 'now'>;
  #suspects = new Map<string, BlankSuspect>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  note(suspect: Omit<BlankSuspect, 'at' | 'times'>): void {
    this.add({ ...suspect, at: this.#clock.now(), times: 1 });
  }

  /** Another picture has come since, or this one was found to be right. */
  forget(place: SuspectPlace): void {
    if (this.#suspects.size > 0) this.#suspects.delete(suspectKey(place));
  }

  add(suspect: BlankSuspect): void {
    const key = suspectKey(suspect);
    const times = suspect.times + (this.#suspects.get(key)?.times ?? 0);
    this.#suspects.delete(key);
    this.#suspects.set(key, { ...suspect, times });
    for (const oldest of this.#suspects.keys()) {
      if (this.#suspects.size <= MAX_KEPT) return;
      this.#suspects.delete(oldest);
    }
  }

  /** The latest first. */
  of(layer: string): readonly BlankSuspect[] {
    const since = this.#clock.now() - KEPT_FOR;
    return [...this.#suspects.values()].filter(({ set, at }) => set.layer === layer && at > since).reverse();
  }

  all(): readonly BlankSuspect[] {
    return [...this.#suspects.values()];
  }

  /** Entries since the last call, to be added up elsewhere. */
  take(): readonly BlankSuspect[] {
    const taken = [...this.#suspects.values()];
    this.#suspects = new Map();
    return taken;
  }
}

function suspectKey({ set, z, rect }: SuspectPlace): string {
  return `${z}/${rect.minX}/${rect.minY} ${tileSetId(set)}`;
}
