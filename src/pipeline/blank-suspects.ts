import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';

/** An empty picture beside others that are not. */
export interface BlankSuspect {
  readonly set: TileSetKey;
  readonly z: number;
  readonly rect: TileRect;
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

  add(suspect: BlankSuspect): void {
    const { set, z, rect } = suspect;
    const key = `${z}/${rect.minX}/${rect.minY} ${tileSetId(set)}`;
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
