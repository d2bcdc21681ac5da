/** Counts tile responses, for `/metrics` and the series of the console. */
import { isTilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { CachedTile, CacheOutcome, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { CallerGone } from '../context.ts';

/** Tile responses of one layer since the last batch, by outcome. */
export interface TileBatch extends Readonly<Record<CacheOutcome, number>> {
  readonly layer: string;
  readonly bytes: number;
  /** Sum over all misses. */
  readonly missMilliseconds: number;
  readonly failures: ReadonlyMap<string, number>;
}

type Draft = { -readonly [Field in keyof TileBatch]: TileBatch[Field] } & { failures: Map<string, number> };

type Reads = Pick<TilePipeline, 'read'>;

/** Counts reads. Calls `add` once per layer and turn of the event loop, or at `flush`; `add` must not throw. */
export function countReads(
  reads: Reads,
  clock: Clock,
  tally: { add(batch: TileBatch): void },
): Reads & { flush(): void } {
  let drafts = new Map<string, Draft>();
  let last: Draft | null = null;

  function flush(): void {
    const ready = drafts;
    drafts = new Map();
    last = null;
    for (const draft of ready.values()) tally.add(draft);
  }

  function layerDraft(layer: string): Draft {
    if (last !== null && last.layer === layer) return last;
    if (drafts.size === 0) setImmediate(flush);
    last = drafts.get(layer) ?? emptyBatch(layer);
    drafts.set(layer, last);
    return last;
  }

  function answered(layer: string, { outcome, bytes }: CachedTile, milliseconds: number): void {
    const draft = layerDraft(layer);
    draft[outcome]++;
    draft.bytes += bytes.length;
    if (outcome === 'MISS') draft.missMilliseconds += milliseconds;
  }

  function failed(layer: string, error: unknown): void {
    const { failures } = layerDraft(layer);
    const code = failureCode(error);
    failures.set(code, (failures.get(code) ?? 0) + 1);
  }

  return {
    flush,
    read(tiles, tile, signal) {
      const started = clock.monotonic();
      const reading = reads.read(tiles, tile, signal);
      const { layer } = tiles.set;
      if (!(reading instanceof Promise)) {
        answered(layer, reading, 0);
        return reading;
      }
      reading.then(
        (answer) => answered(layer, answer, clock.monotonic() - started),
        (error: unknown) => failed(layer, error),
      );
      return reading;
    },
  };
}

export interface TileCountSeries {
  readonly layer: string;
  readonly outcome: string;
  readonly count: number;
}

/** Tile responses by layer. Only existing layers are counted, which bounds the number of series. */
export class TileCounts {
  readonly #layers = new Map<string, Draft>();

  add(batch: TileBatch): void {
    const { layer } = batch;
    const sum = this.#layers.get(layer) ?? emptyBatch(layer);
    this.#layers.set(layer, sum);
    for (const outcome of OUTCOMES) sum[outcome] += batch[outcome];
    for (const [code, count] of batch.failures) sum.failures.set(code, (sum.failures.get(code) ?? 0) + count);
  }

  *series(): Generator<TileCountSeries> {
    for (const [layer, sum] of this.#layers) {
      for (const outcome of OUTCOMES) yield { layer, outcome: outcome.toLowerCase(), count: sum[outcome] };
      for (const [outcome, count] of sum.failures) yield { layer, outcome, count };
    }
  }

  all(): readonly TileBatch[] {
    return [...this.#layers.values()];
  }
}

const OUTCOMES: readonly CacheOutcome[] = ['HIT', 'MISS', 'STALE', 'BYPASS'];

function emptyBatch(layer: string): Draft {
  return { layer, HIT: 0, MISS: 0, STALE: 0, BYPASS: 0, bytes: 0, missMilliseconds: 0, failures: new Map() };
}

function failureCode(error: unknown): string {
  if (error instanceof CallerGone) return 'caller-gone';
  return isTilewardenError(error) ? error.code : 'unexpected';
}
