export interface PipelineSettings {
  /** Bytes of tiles held in memory before the store; 0 holds none. */
  readonly memoryTierBytes: number;
  /** How many reads may wait for a source; further ones are refused at once with `source-busy`. */
  readonly maxWaitingReads: number;
  /** Metatiles of one source that are being fetched, cut or stored at once. */
  readonly maxFetchesPerSource: number;
  /** Metatiles being cut at once, and stored behind the answer. */
  readonly maxLandings: number;
  /** Metatiles being renewed behind answers that were given already. */
  readonly maxRenewals: number;
  /** How long a failure is answered again without asking the source again. Milliseconds. */
  readonly negativeTtlMs: number;
  /** How long a picture is kept that is empty where its neighbours are not. Milliseconds. */
  readonly suspectMs: number;
  /** How long a source may take, waiting in line included. Milliseconds. */
  readonly flightDeadlineMs: number;
  /** The same warning about the store is not repeated within it. Milliseconds. */
  readonly warnIntervalMs: number;
}

export const DEFAULT_PIPELINE_SETTINGS: PipelineSettings = {
  memoryTierBytes: 64 * 1024 * 1024,
  maxWaitingReads: 2000,
  maxFetchesPerSource: 32,
  maxLandings: 8,
  maxRenewals: 64,
  negativeTtlMs: 500,
  suspectMs: 60_000,
  flightDeadlineMs: 60_000,
  warnIntervalMs: 60_000,
};
