import type { HostOutage } from '../../domain/upstream-status.ts';
import type { Env } from '../../lib/env.ts';
import { openRepeater } from '../../lib/repeat.ts';

export interface HostOutageStore {
  /** Null: the host answers again. */
  tell(host: string, news: HostOutage | null): Promise<void>;
  /** Reports of other nodes, by host. A host that has recovered is missing. */
  read(): Promise<ReadonlyMap<string, HostOutage>>;
  /** There may be something new. It may be lost. */
  listen(heard: () => void): () => void;
}

interface NewsFollowerOptions extends Env {
  readonly book: HostOutageStore;
  readonly hear: (news: ReadonlyMap<string, HostOutage>) => void;
}

/** Milliseconds between polls without a notification. */
const INTERVAL = 1000;

export function followHostOutages({ book, hear, clock, log }: NewsFollowerOptions): {
  close(): Promise<void>;
} {
  const looks = openRepeater(() => book.read().then(hear), {
    clock,
    log,
    pause: INTERVAL,
    level: 'debug',
    failure: 'what other nodes know of hosts cannot be read',
  });
  const stopListening = book.listen(looks.wake);
  return {
    async close() {
      stopListening();
      await looks.close();
    },
  };
}
