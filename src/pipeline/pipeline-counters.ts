import type { TileSetKey } from '../domain/tile-key.ts';
import type { PipelineCount, PipelineMetrics } from './pipeline-metrics.ts';

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
