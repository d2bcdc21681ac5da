export type UpstreamPriority = 'interactive' | 'task';

export interface RequestEnd {
  /**
   * `answered`: the host did what it was asked. `overloaded`: it said that it is too much. `failed`: it could not
   * be reached, did not answer in time or said that it cannot. `refused`: it answered, but with nothing of use.
   * `left`: its caller stopped waiting.
   */
  readonly kind: 'answered' | 'overloaded' | 'failed' | 'refused' | 'left';
  /** For counting; one of a short list, null when all went well. */
  readonly reason: string | null;
  /** From sending the request to the end of its answer. */
  readonly ms: number;
  readonly retryAfterMs: number | null;
}

export interface Permit {
  /** Releases the slot; further calls have no effect. */
  end(end: RequestEnd): void;
}

/**
 * Lets requests to hosts begin, over all sources and all processes of the server. Rejects with `source-busy` or
 * `source-unavailable`, and with the signal's reason; where it is known until when a host is left alone, the
 * cause is a `HostClosed`.
 */
export interface UpstreamLimiter {
  /** `host` is `name:port`. */
  acquire(host: string, priority: UpstreamPriority, signal: AbortSignal): Promise<Permit>;
}
