import type { HostNews } from '../../domain/upstream-status.ts';
import { openRepeater } from '../../lib/repeat.ts';
import type { Surroundings } from '../../lib/surroundings.ts';

export interface NewsBook {
  /** Null: the host answers again. */
  tell(host: string, news: HostNews | null): Promise<void>;
  /** Reports of other nodes, by host. A host that has recovered is missing. */
  read(): Promise<ReadonlyMap<string, HostNews>>;
  /** There may be something new. It may be lost. */
  listen(heard: () => void): () => void;
}

interface NewsFollowerOptions extends Surroundings {
  readonly book: NewsBook;
  readonly hear: (news: ReadonlyMap<string, HostNews>) => void;
}

/** Milliseconds between polls without a notification. */
const INTERVAL = 1000;

export function followHostNews({ book, hear, clock, log }: NewsFollowerOptions): { close(): Promise<void> } {
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
