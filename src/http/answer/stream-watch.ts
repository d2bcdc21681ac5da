import type { ServerResponse } from 'node:http';
import type { Logger } from '../../lib/logger.ts';

export interface StreamWatch {
  /** Whether the caller may go on listening. */
  readonly holds: () => Promise<boolean>;
  readonly intervalMs: number;
  readonly log: Logger;
}

/**
 * An answer without an end outlives what was true when it began. The signal aborts soon after its caller was removed,
 * changed or logged out; and when that cannot be found out.
 */
export function watchStream(response: ServerResponse, { holds, intervalMs, log }: StreamWatch): AbortSignal {
  const ended = new AbortController();
  let checking = false;
  const check = async () => {
    if (checking) return;
    checking = true;
    const good = await holds().catch((error: unknown) => {
      log.warn({ err: error }, 'Whether a listener may go on cannot be found out');
      return false;
    });
    checking = false;
    if (!good) ended.abort();
  };
  const timer = setInterval(() => void check(), intervalMs);
  response.once('close', () => clearInterval(timer));
  return ended.signal;
}
