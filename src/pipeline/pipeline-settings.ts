export const DEFAULT_PIPELINE_SETTINGS = {
  /** Bytes of tiles held in memory before the store; 0 holds none. */
  memoryTierBytes: 64 * 1024 * 1024,
  /** How many reads may wait for sources, half of them for one; further ones are refused with `source-busy`. */
  maxWaitingReads: 2000,
  /** Concurrent metatiles of one source: fetched, cut or stored. */
  maxFetchesPerSource: 32,
  /** Concurrent metatiles being cut, and in each store being stored after the answer. */
  maxLandings: 8,
  /** Metatiles being renewed behind answers that were given already. */
  maxRenewals: 64,
  /** How long a failure is answered again without asking the source again. Milliseconds. */
  negativeTtlMs: 500,
  /** How long a blank metatile is kept that comes soon after a failure of its source. Milliseconds. */
  doubtfulBlankMs: 120_000,
  /** How long a source may take, waiting in line included. Milliseconds. */
  flightDeadlineMs: 60_000,
  /** The same warning about the store is not repeated within it. Milliseconds. */
  warnIntervalMs: 60_000,
};

export type PipelineSettings = Readonly<typeof DEFAULT_PIPELINE_SETTINGS>;
