import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';

export interface SuspectPlace {
  readonly set: TileSetKey;
  readonly z: number;
  readonly rect: TileRect;
}

/** An empty picture beside others that are not. */
export interface BlankSuspect extends SuspectPlace {
  /** Milliseconds since 1970, of the last time. */
  readonly at: number;
  readonly times: number;
  /** Its source was failing: it was neither kept nor served. */
  readonly refused: boolean;
}

const MOST_KEPT = 1000;
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
    if (this.#suspects.size > 0) this.#suspects.delete(keyOf(place));
  }

  add(suspect: BlankSuspect): void {
    const key = keyOf(suspect);
    const times = suspect.times + (this.#suspects.get(key)?.times ?? 0);
    this.#suspects.delete(key);
    this.#suspects.set(key, { ...suspect, times });
    for (const oldest of this.#suspects.keys()) {
      if (this.#suspects.size <= MOST_KEPT) return;
      this.#suspects.delete(oldest);
    }
  }

  /** The latest first. */
  of(layer: string): readonly BlankSuspect[] {
    const since = this.#clock.now() - KEPT_FOR;
    return [...this.#suspects.values()].filter(({ set, at }) => set.layer === layer && at > since).reverse();
  }

  /** What has come since the last call, for whoever adds it up elsewhere. */
  take(): readonly BlankSuspect[] {
    const taken = [...this.#suspects.values()];
    this.#suspects = new Map();
    return taken;
  }
}

function keyOf({ set, z, rect }: SuspectPlace): string {
  return `${z}/${rect.minX}/${rect.minY} ${tileSetId(set)}`;
}
