import { setMaxListeners } from 'node:events';
import type { Metatile } from '../domain/metatile.ts';
import type { TileIndex, TileMaker } from '../domain/tile-key.ts';
import { createDeferred, type Deferred, orAborted } from '../lib/deferred.ts';
import type { StoredTile } from '../storage/store.ts';
import type { RenewRequest, ResolvedTileSet } from './tile-pipeline.ts';

interface MadeTile extends StoredTile, TileIndex {
  readonly validator: string | null;
  /** Whether all pixels have the same colour. */
  readonly blank: boolean;
}

export interface FlightPlan extends Pick<RenewRequest, 'lease' | 'sent' | 'storeAgain'> {
  /** Rises with each flight. */
  readonly number: number;
  readonly tiles: ResolvedTileSet;
  readonly metatile: Metatile;
  /** Taken before the fetch; null if the tiles are not to be stored. */
  readonly ticket: number | null;
  readonly priority: 'interactive' | 'task';
  readonly madeBy: TileMaker;
}

/**
 * `landed`: new tiles were made. `turned-back`: the flight ended without a fetch, because the tiles are in the store.
 * `confirmed`: the source has confirmed the stored tiles.
 */
type FlightEnd = 'landed' | 'turned-back' | 'confirmed' | { readonly error: unknown };

/**
 * The making of a metatile, shared by all callers that wait for it. Each tile is handed out as soon as it is made;
 * `landed` resolves when all are stored. Until its first tile is handed out, a flight without callers is abandoned.
 */
export class Flight {
  readonly plan: FlightPlan;
  /** Called when the last caller leaves before a tile was handed out. */
  onAbandoned: () => void = () => {};
  /** Set when newer tiles exist or may exist: no further caller joins, and the tiles are not cached. */
  outdated = false;
  /** Drawn without a part that failed. */
  incomplete = false;
  /** Set when another process or node has changed the tiles: memory does not cache them, the store decides by ticket. */
  overtaken = false;
  /** When the tiles stop being fresh, in milliseconds since 1970; null: by the layer's setting alone. */
  freshUntil: number | null = null;
  validator: string | null = null;
  /** As in `SourceResult`. */
  warning: string | null = null;
  readonly #controller = new AbortController();
  readonly #tiles = new Map<number, MadeTile>();
  readonly #waiting = new Map<number, Deferred<MadeTile | null>>();
  readonly #requests = new Set<number>();
  readonly #landing = createDeferred<boolean>();
  readonly #onFetched: (() => void)[] = [];
  #fetched = false;
  #end: FlightEnd | null = null;
  #holders = 0;
  #handedOut = false;

  constructor(plan: FlightPlan) {
    this.plan = plan;
    // Every caller and every tile to be encoded adds a listener.
    setMaxListeners(0, this.#controller.signal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Whether the source has responded, so that only our own work is left. */
  get fetched(): boolean {
    return this.#fetched;
  }

  markFetched(): void {
    this.#fetched = true;
    for (const listener of this.#onFetched) listener();
  }

  /** Calls the listener once the source has responded; synchronously if it already has. */
  whenFetched(listener: () => void): void {
    if (this.#fetched) listener();
    else this.#onFetched.push(listener);
  }

  get confirmed(): boolean {
    return this.#end === 'confirmed';
  }

  /** Null if no tile was made: the caller reads the store again. */
  async tile(tile: TileIndex, signal?: AbortSignal): Promise<MadeTile | null> {
    const index = this.#indexOf(tile);
    this.#requests.add(index);
    const known = this.#tiles.get(index);
    if (known) return known;
    const waiting = this.#waiting.get(index) ?? createDeferred<MadeTile | null>();
    this.#waiting.set(index, waiting);
    if (this.#end) resolveWith(waiting, this.#end, null);
    return this.#hold(waiting.promise, signal);
  }

  /** True if the tiles were stored or confirmed, false if the flight turned back. */
  landed(signal: AbortSignal): Promise<boolean> {
    return this.#hold(this.#landing.promise, signal);
  }

  madeTiles(): readonly MadeTile[] {
    return [...this.#tiles.values()];
  }

  /** Whether a reader has requested this tile, even if it was handed out in the meantime. */
  isRequested(tile: TileIndex): boolean {
    return this.#requests.has(this.#indexOf(tile));
  }

  hasMade(tile: TileIndex): boolean {
    return this.#tiles.has(this.#indexOf(tile));
  }

  handOut(tile: MadeTile): void {
    const index = this.#indexOf(tile);
    this.#tiles.set(index, tile);
    const waiting = this.#waiting.get(index);
    if (!waiting) return;
    this.#waiting.delete(index);
    this.#handedOut = true;
    waiting.resolve(tile);
  }

  end(how: FlightEnd): void {
    this.#end = how;
    for (const waiting of this.#waiting.values()) resolveWith(waiting, how, null);
    resolveWith(this.#landing, how, how !== 'turned-back');
  }

  async #hold<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    this.#holders++;
    try {
      return await orAborted(promise, signal);
    } finally {
      this.#holders--;
      if (this.#holders === 0 && !this.#handedOut && !this.#end) this.onAbandoned();
    }
  }

  #indexOf({ x, y }: TileIndex): number {
    const { minX, minY, maxX } = this.plan.metatile.rect;
    return (y - minY) * (maxX - minX + 1) + (x - minX);
  }
}

function resolveWith<T>(waiting: Deferred<T>, end: FlightEnd, value: T): void {
  if (typeof end === 'object') waiting.reject(end.error);
  waiting.resolve(value);
}
