import { isTilewardenError, messageWithStatus, reasonOf, type UpstreamWords } from '../domain/errors.ts';
import type { TileEvent, TileEvents } from '../domain/tile-events.ts';
import { hostClosedIn } from '../domain/upstream-status.ts';
import type { Clock } from '../lib/clock.ts';
import { getOrCreate } from '../lib/get-or-create.ts';

interface LayerFailure {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** From a fixed list, e.g. `source-timeout` or `service-exception`. */
  readonly reason: string;
  /** For users; without host, path or secret. */
  readonly message: string;
  /** Null unless a map server caused it. */
  readonly upstream: UpstreamWords | null;
}

export interface LayerStats {
  readonly layer: string;
  readonly changedAt: number | null;
  readonly failures: number;
  readonly lastFailure: LayerFailure | null;
}

export interface LayerState extends Omit<LayerStats, 'layer'> {
  /** Start of the period of `failures`: a day ago, or the start of the server. Milliseconds since 1970. */
  readonly failuresSince: number;
}

const HOUR_MS = 3_600_000;
const HOURS = 24;
const DAY_MS = HOURS * HOUR_MS;
const UNEXPECTED = 'Unexpected failure; see the log of the server.';

interface LayerRecord {
  changedAt: number | null;
  lastFailure: LayerFailure | null;
  /** A ring of failures by hour, for a day; created with the first failure. */
  hours: Uint32Array | null;
  /** The hour of the ring's newest entry, counted from 1970. */
  hour: number;
}

/**
 * When each layer's tiles last changed, its failures of the last day by hour, and its last failure. In memory: a few
 * hundred bytes for each layer with any of these. A restart clears it, so states say since when they count.
 */
export class LayerActivity {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #startedAt: number;
  readonly #layers = new Map<string, LayerRecord>();

  /** Never unsubscribes: it lives as long as the events do. */
  constructor(events: TileEvents, clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#startedAt = clock.now();
    events.subscribe((event) => this.#onEvent(event));
  }

  /** Records a failure. Aborts by clients, truncations in the meantime and paused hosts do not count. */
  failed(layer: string, error: unknown): void {
    if (!isFailure(error)) return;
    const isKnown = isTilewardenError(error);
    const record = this.#recordOf(layer);
    record.lastFailure = {
      at: this.#clock.now(),
      reason: reasonOf(error),
      message: isKnown ? messageWithStatus(error) : UNEXPECTED,
      upstream: isKnown ? error.upstream : null,
    };
    const hours = this.#turned(record);
    hours[record.hour % HOURS] = (hours[record.hour % HOURS] ?? 0) + 1;
  }

  #recordOf(layer: string): LayerRecord {
    return getOrCreate(this.#layers, layer, () => ({
      changedAt: null,
      lastFailure: null,
      hours: null,
      hour: 0,
    }));
  }

  /** Failures of the last 24 hours, to within an hour; `lastFailure` may be older. `elsewhere`: other processes' stats. */
  of(layer: string, elsewhere: readonly LayerStats[] = []): LayerState {
    const record = this.#layers.get(layer);
    const own = record ? this.#stateOf(record) : { changedAt: null, failures: 0, lastFailure: null };
    const state = elsewhere.filter((other) => other.layer === layer).reduce(mergedStats, own);
    return { ...state, failuresSince: Math.max(this.#startedAt, this.#clock.now() - DAY_MS) };
  }

  all(): readonly LayerStats[] {
    return [...this.#layers].map(([layer, record]) => ({ layer, ...this.#stateOf(record) }));
  }

  #onEvent(event: TileEvent): void {
    if (event.type === 'served' || event.type === 'outdated' || event.type === 'store-state') return;
    const layer = event.type === 'layer-dropped' ? event.layer : event.set.layer;
    const record = this.#recordOf(layer);
    record.changedAt = laterOf(record.changedAt, event.at);
  }

  #stateOf(record: LayerRecord): Omit<LayerStats, 'layer'> {
    const { changedAt, lastFailure } = record;
    const failures = record.hours ? this.#turned(record).reduce((sum, count) => sum + count, 0) : 0;
    return { changedAt, failures, lastFailure };
  }

  /** The failures by hour, after clearing the hours that have passed since the last call. */
  #turned(record: LayerRecord): Uint32Array {
    const now = Math.floor(this.#clock.now() / HOUR_MS);
    record.hours ??= new Uint32Array(HOURS);
    for (let hour = Math.max(record.hour + 1, now - HOURS + 1); hour <= now; hour++)
      record.hours[hour % HOURS] = 0;
    record.hour = Math.max(record.hour, now);
    return record.hours;
  }
}

function isFailure(error: unknown): boolean {
  if (error instanceof DOMException && error.name === 'AbortError') return false;
  return !hostClosedIn(error) && !isTilewardenError(error, 'generation-stale', 'stopping', 'tile-outside');
}

function mergedStats(state: Omit<LayerStats, 'layer'>, { changedAt, failures, lastFailure }: LayerStats) {
  const isLater = (lastFailure?.at ?? 0) > (state.lastFailure?.at ?? 0);
  return {
    changedAt: laterOf(state.changedAt, changedAt),
    failures: state.failures + failures,
    lastFailure: isLater ? lastFailure : state.lastFailure,
  };
}

/** Null: never. */
export function laterOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}
