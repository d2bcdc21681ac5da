import type { HostOutage } from '../../domain/upstream-status.ts';
import type { Env } from '../../lib/env.ts';
import { openRepeater } from '../../lib/repeat.ts';

export interface HostOutageStore {
  /** Null: the host answers again. */
  report(host: string, outage: HostOutage | null): Promise<void>;
  /** Reports of other nodes, by host. A host that has recovered is missing. */
  read(): Promise<ReadonlyMap<string, HostOutage>>;
  /** There may be something new. It may be lost. */
  listen(onChange: () => void): () => void;
}

interface OutageFollowerOptions extends Env {
  readonly store: HostOutageStore;
  readonly apply: (outages: ReadonlyMap<string, HostOutage>) => void;
}

/** Milliseconds between polls without a notification. */
const INTERVAL = 1000;

export function followHostOutages({ store, apply, clock, log }: OutageFollowerOptions): {
  close(): Promise<void>;
} {
  const looks = openRepeater(() => store.read().then(apply), {
    clock,
    log,
    pause: INTERVAL,
    level: 'debug',
    failure: 'could not read the host outages of other nodes',
  });
  const stopListening = store.listen(looks.wake);
  return {
    async close() {
      stopListening();
      await looks.close();
    },
  };
}
