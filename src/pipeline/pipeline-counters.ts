import type { TileSetKey } from '../domain/tile-key.ts';

export interface CountedEvent {
  readonly what: PipelineCount;
  readonly layer: string;
  readonly reason: string | null;
  readonly count: number;
}

/** Events that are counted under names of their own. What comes beyond is counted without layer and reason. */
const MOST_SERIES = 10_000;

/** Adds up what the pipelines of all processes of the server have counted. */
export class PipelineCounters implements PipelineMetrics {
  readonly #events = new Map<string, CountedEvent & { count: number }>();

  count(what: PipelineCount, { layer }: Pick<TileSetKey, 'layer'>, reason: string | null): void {
    this.add({ what, layer, reason, count: 1 });
  }

  add({ what, layer, reason, count }: CountedEvent): void {
    const key = `${what}\n${reason ?? ''}\n${layer}`;
    const known = this.#events.get(key);
    if (known) {
      known.count += count;
      return;
    }
    const crowded = this.#events.size >= MOST_SERIES && layer !== '';
    if (crowded) this.add({ what, layer: '', reason: null, count });
    if (!crowded) this.#events.set(key, { what, layer, reason, count });
  }

  all(): readonly CountedEvent[] {
    return [...this.#events.values()];
  }

  /** What was counted since the last call, for whoever adds it up elsewhere. */
  take(): readonly CountedEvent[] {
    const taken = this.all();
    this.#events.clear();
    return taken;
  }
}

export type PipelineCount =
  | 'flight-started'
  | 'flight-joined'
  /** With the reason of the gate, or the code of the error. */
  | 'flight-failed'
  | 'flight-abandoned'
  /** The source answered with what may not enter the cache; with the reason of the gate. */
  | 'answer-refused'
  /** A picture of one colour beside others that are not: kept only briefly. */
  | 'blank-suspected'
  /** Answered with the failure of a moment ago, without asking the source. */
  | 'failure-repeated'
  | 'read-refused'
  /** Read from what a layer has adopted. */
  | 'tile-adopted'
  | 'store-read-failed';

/** Whoever counts what the pipeline does. Must not throw and must not wait. */
export interface PipelineMetrics {
  count(what: PipelineCount, set: TileSetKey, reason: string | null): void;
}

export const noMetrics: PipelineMetrics = { count: () => {} };
