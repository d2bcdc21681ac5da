import type { Clock } from '../lib/clock.ts';

/** It is read again behind a request that comes so long after it was read. */
const RENEW_AFTER_MS = 60 * 60 * 1000;

/**
 * The description of a service: read when it is first needed, once for all callers. It stays in use while it is
 * renewed, also when that fails.
 */
export function keepDescription<Description>(clock: Clock, load: () => Promise<Description>) {
  let known: Description | null = null;
  let readAt = 0;
  let reading: Promise<Description> | null = null;

  async function readOnce(): Promise<Description> {
    readAt = clock.monotonic();
    known = await load();
    return known;
  }

  function read(): Promise<Description> {
    reading ??= readOnce().finally(() => {
      reading = null;
    });
    return reading;
  }

  return {
    /** Null while it has not been read. */
    known: () => known,
    async current(): Promise<Description> {
      if (!known) return await read();
      if (clock.monotonic() - readAt > RENEW_AFTER_MS) read().catch(() => undefined);
      return known;
    },
  };
}
