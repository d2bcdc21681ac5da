import type { TileSetKey } from '../domain/tile-key.ts';

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
