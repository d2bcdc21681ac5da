export interface TaskSettings {
  /** A request's `threadCount` is reduced to this. */
  readonly maxThreadCount: number;
  /** Metatiles in flight over all tasks of this node. */
  readonly maxThreads: number;
  /** Worker processes; 0: this node performs no tasks. */
  readonly workers: number;
  /** Tasks that may wait or run at once; a further one is refused. */
  readonly maxUnfinished: number;
  /** Finished tasks are kept this long, and this many. */
  readonly keepDays: number;
  readonly keepFinished: number;
}

/** By the number of processor cores: a worker for each, and enough metatiles in flight to keep an upstream busy. */
export function taskSettingsFor(cores: number): TaskSettings {
  return {
    workers: cores,
    maxThreads: Math.max(8, cores * 4),
    maxThreadCount: 64,
    maxUnfinished: 1000,
    keepDays: 30,
    keepFinished: 10_000,
  };
}
