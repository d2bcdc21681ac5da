import type { HostOutage } from '../../domain/upstream-status.ts';

export interface HostOutageStore {
  /** Null: the host answers again. */
  report(host: string, outage: HostOutage | null): Promise<void>;
  /** Reports of other nodes, by host. A host that has recovered is missing. */
  read(): Promise<ReadonlyMap<string, HostOutage>>;
  /** There may be something new. It may be lost. */
  listen(onChange: () => void): () => void;
}
