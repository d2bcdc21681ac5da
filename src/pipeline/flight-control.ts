import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import { hostClosedIn } from '../domain/host-closed.ts';
import type { Metatile } from '../domain/metatile.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { BlankWatch } from './blank-watch.ts';
import { Flight, type FlightPlan } from './flight.ts';
import { FlightBoard, flightKey } from './flight-board.ts';
import type { FlightCrew } from './flight-crew.ts';
import type { NegativeMemory } from './negative-memory.ts';
import type { PipelineMetrics } from './pipeline-metrics.ts';
import type { SeldomWarning } from './seldom-warning.ts';

export interface FlightControlOptions {
  readonly crew: FlightCrew;
  readonly failures: NegativeMemory;
  readonly metrics: PipelineMetrics;
  readonly blanks: BlankWatch;
  readonly warn: SeldomWarning;
  readonly onFailure: FailureListener;
}

/** Told of everything that ends a flight early, whether or not it is anybody's fault. */
export type FailureListener = (layer: string, error: unknown) => void;

/** Starts flights, lets others join them, remembers for a moment how they failed, and ends them. */
export class FlightControl {
  readonly #crew: FlightCrew;
  readonly #failures: NegativeMemory;
  readonly #metrics: PipelineMetrics;
  readonly #blanks: BlankWatch;
  readonly #warn: SeldomWarning;
  readonly #onFailure: FailureListener;
  readonly #board = new FlightBoard();
  readonly #flying = new Map<Flight, Promise<void>>();
  #started = 0;
  #closing = false;

  constructor({ crew, failures, metrics, blanks, warn, onFailure }: FlightControlOptions) {
    this.#crew = crew;
    this.#failures = failures;
    this.#metrics = metrics;
    this.#blanks = blanks;
    this.#warn = warn;
    this.#onFailure = onFailure;
  }

  get size(): number {
    return this.#flying.size;
  }

  /** How many flights have been started so far; a flight's `number` above it means that it started later. */
  get started(): number {
    return this.#started;
  }

  /** A flight to join: of this generation or a later one, and started after the first `after` ones. */
  find(set: TileSetKey, metatile: Metatile, generation: number | null, after = 0): Flight | null {
    const flight = this.#board.find(set, metatile, generation);
    if (!flight || flight.plan.number <= after) return null;
    this.#metrics.count('flight-joined', set, null);
    return flight;
  }

  /** Throws what the metatile failed with a moment ago. */
  refuseIfFailing(set: TileSetKey, metatile: Metatile): void {
    const failure = this.#failures.find(flightKey(set, metatile));
    if (!failure) return;
    this.#metrics.count('failure-repeated', set, reasonOf(failure.error));
    throw failure.error;
  }

  /** `isThere` is asked before the source is: true ends the flight at once. */
  start(plan: Omit<FlightPlan, 'number'>, isThere: () => Promise<boolean>): Flight {
    if (this.#closing) throw stopping();
    const flight = new Flight({ ...plan, number: ++this.#started });
    flight.onAbandoned = () => this.#abandon(flight);
    this.#board.add(flight);
    this.#metrics.count('flight-started', plan.tiles.set, null);
    this.#flying.set(flight, this.#fly(flight, isThere));
    return flight;
  }

  outdate(set: TileSetKey, z: number, rect: TileRect): void {
    this.#board.outdate(set, z, rect);
  }

  outdateLayer(layer: string): void {
    this.#board.outdateLayer(layer);
    this.#failures.forgetLayer(layer);
  }

  /** Gives up what its source has not answered yet, and waits for the rest to be stored. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const flight of this.#flying.keys()) if (!flight.fetched) flight.abort(stopping());
    await Promise.all(this.#flying.values());
  }

  async #fly(flight: Flight, isThere: () => Promise<boolean>): Promise<void> {
    try {
      if (await isThere()) return flight.end('turned-back');
      flight.end(await this.#crew.carry(flight));
    } catch (error) {
      this.#fail(flight, error);
    } finally {
      this.#board.remove(flight);
      this.#flying.delete(flight);
    }
  }

  #fail(flight: Flight, error: unknown): void {
    const { tiles, metatile } = flight.plan;
    this.#metrics.count('flight-failed', tiles.set, reasonOf(error));
    this.#onFailure(tiles.set.layer, error);
    if (isTilewardenError(error, 'source-bad-answer')) {
      this.#metrics.count('answer-refused', tiles.set, reasonOf(error));
    }
    // A host that is left alone was not asked: there is nothing to remember, and nothing new to tell.
    if (isSourceFailure(error) && !hostClosedIn(error)) {
      const { layer } = tiles.set;
      this.#blanks.sourceFailed(layer);
      this.#warn(error, `the source of layer ${layer} failed: ${reasonOf(error)}`);
      if (!flight.outdated) this.#failures.remember(flightKey(tiles.set, metatile), layer, error);
    }
    flight.end({ error });
  }

  #abandon(flight: Flight): void {
    this.#metrics.count('flight-abandoned', flight.plan.tiles.set, null);
    flight.outdated = true;
    this.#board.remove(flight);
    flight.abort(new DOMException('Nobody waits for it any more.', 'AbortError'));
  }
}

/** The source is to blame: an older tile is a better answer than none. */
export function isSourceFailure(error: unknown): boolean {
  return isTilewardenError(error, 'source-unavailable', 'source-timeout', 'source-busy', 'source-bad-answer');
}

function reasonOf(error: unknown): string {
  return isTilewardenError(error) ? (error.reason ?? error.code) : 'unexpected';
}

function stopping(): TilewardenError {
  return new TilewardenError('stopping', 'The server is stopping.');
}
