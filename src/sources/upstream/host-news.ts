import type { HostNews } from '../../domain/upstream-status.ts';
import type { Surroundings } from '../../lib/surroundings.ts';

export interface NewsBook {
  /** Null: the host answers again. */
  tell(host: string, news: HostNews | null): Promise<void>;
  /** What other nodes have told, by host. A host that answers again is missing. */
  read(): Promise<ReadonlyMap<string, HostNews>>;
  /** There may be something new. It may be lost. */
  listen(heard: () => void): () => void;
}

interface NewsFollowerOptions extends Surroundings {
  readonly book: NewsBook;
  readonly hear: (news: ReadonlyMap<string, HostNews>) => void;
}

/** Milliseconds between looks when nobody tells of anything. */
const INTERVAL = 1000;

export function followHostNews({ book, hear, clock, log }: NewsFollowerOptions): { close(): Promise<void> } {
  const ending = new AbortController();
  let nudge = new AbortController();

  async function follow(): Promise<void> {
    while (!ending.signal.aborted) {
      nudge = new AbortController();
      await book.read().then(hear, (error: unknown) => {
        log.debug({ err: error }, 'what other nodes know of hosts cannot be asked');
      });
      await clock.sleep(INTERVAL, AbortSignal.any([nudge.signal, ending.signal])).catch(() => {});
    }
  }

  const stopListening = book.listen(() => nudge.abort());
  const following = follow();
  return {
    async close() {
      ending.abort();
      stopListening();
      await following;
    },
  };
}
