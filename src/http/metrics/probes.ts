import type { Env } from '../../lib/env.ts';
import { textResponse } from '../response.ts';
import type { Handler } from '../route.ts';

export interface ReadinessDeps extends Env {
  /** Rejects if the server cannot work, e.g. cannot write and read a tile. A text names a degradation. */
  readonly readiness: (signal: AbortSignal) => Promise<string | null>;
}

/** A check that takes longer has failed. */
const CHECK_TIMEOUT_MS = 5_000;
/** Probes in between get the last result, so that frequent probes cost nothing. */
const RESULT_LASTS_MS = 1_000;

interface Readiness {
  readonly ready: boolean;
  readonly remark: string | null;
}

export const answerAlive: Handler = () => textResponse(200, 'alive\n');

/** `/readyz`: yes or no. The reason is logged, not published. */
export function createReadiness({ readiness, clock, log }: ReadinessDeps): Handler {
  let last: { readonly ready: Promise<Readiness>; readonly at: number } | null = null;

  return async () => {
    const now = clock.monotonic();
    if (!last || now - last.at >= RESULT_LASTS_MS) last = { ready: check(), at: now };
    const { ready, remark } = await last.ready;
    if (!ready) return textResponse(503, 'not ready\n', ['Retry-After', '5']);
    return textResponse(200, remark === null ? 'ready\n' : `ready: ${remark}\n`);
  };

  async function check(): Promise<Readiness> {
    const timeout = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    try {
      return { ready: true, remark: await Promise.race([readiness(timeout), rejectionOf(timeout)]) };
    } catch (error) {
      log.warn({ err: error }, 'the server is not ready');
      return { ready: false, remark: null };
    }
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
