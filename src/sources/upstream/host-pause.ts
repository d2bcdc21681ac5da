import type { HostPause } from '../../domain/upstream-status.ts';

/** Hosts that operators have paused; durable, for all servers that share a database. */
export interface HostPauseReader {
  read(): Promise<ReadonlyMap<string, HostPause>>;
  /** There may be something new. It may be lost. */
  listen(onChange: () => void): () => void;
}
