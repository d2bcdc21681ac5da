export interface UnderWay {
  /** On the monotonic clock. */
  readonly begunAt: number;
}

export interface HostManner {
  readonly failing: boolean;
  readonly most: number;
  /** Milliseconds that nearly all of its latest answers took at most; null: none is known. */
  readonly usualMs: () => number | null;
}

/** Milliseconds without a response after which a host is silent; and the same as a multiple of its usual response time. */
const SILENCE = 1000;
const SILENCE_FACTOR = 5;
const SILENCE_OF_UNKNOWN_HOSTS = 5000;
/** Milliseconds a probe may take before the next one takes its place; and as a multiple of the usual response time. */
const PROBE_TIMEOUT = 600;
const PROBE_TIMEOUT_FACTOR = 2;
const MAX_PROBE_TIMEOUT = 15_000;

/**
 * Detects a host that has requests in flight and no longer responds, and allows one more request as a probe. The others
 * keep their timeouts: they may only be slow. Probes share one place, each replaces the one before.
 */
export class SilenceWatch<Request extends UnderWay> {
  /** In the order of their beginning. */
  readonly #underWay = new Set<Request>();
  #answeredAt = Number.NEGATIVE_INFINITY;
  #probe: Request | null = null;
  #probedAt = Number.NEGATIVE_INFINITY;
  #probesInARow = 0;

  begun(request: Request, isProbe: boolean): void {
    this.#underWay.add(request);
    if (!isProbe) return;
    this.#probe = request;
    this.#probedAt = request.begunAt;
    this.#probesInARow++;
  }

  /** `at`: when the host responded, in whatever way; null: it has not. */
  ended(request: Request, at: number | null): void {
    this.#underWay.delete(request);
    if (this.#probe === request) this.#probe = null;
    if (at === null) return;
    this.#answeredAt = at;
    this.#probesInARow = 0;
  }

  isProbe(request: Request): boolean {
    return this.#probe === request;
  }

  all(): readonly Request[] {
    return [...this.#underWay];
  }

  /** Milliseconds until a probe may be sent, as far as is known; 0: now, infinite: there is nothing to wait for. */
  delayAt(now: number, { failing, most, usualMs }: HostManner): number {
    const first = this.#firstUnanswered();
    if (!first) return Number.POSITIVE_INFINITY;
    const soonest = this.#dueAt(first, failing ? PROBE_TIMEOUT : SILENCE, PROBE_TIMEOUT);
    if (soonest > now) return soonest - now;
    const usual = usualMs();
    const timeout = this.#probeTimeout(usual, failing, most);
    const silence = failing ? timeout : silenceOf(usual);
    return Math.max(0, this.#dueAt(first, silence, timeout) - now);
  }

  /** The request whose place the next probe takes; null: a place is free. */
  givesWay(most: number): Request | null {
    if (this.#probe) return this.#probe;
    return this.#underWay.size >= most ? this.#firstUnanswered() : null;
  }

  /** A request that began before the host's last response may just be slow. */
  #firstUnanswered(): Request | null {
    for (const request of this.#underWay) if (request.begunAt >= this.#answeredAt) return request;
    return null;
  }

  #dueAt(first: Request, silence: number, timeout: number): number {
    return Math.max(first.begunAt + silence, this.#probedAt + timeout);
  }

  /** With a single place only probes are sent: each may take longer than the one before, or none would ever end. */
  #probeTimeout(usual: number | null, failing: boolean, most: number): number {
    if (usual === null && !failing) return SILENCE_OF_UNKNOWN_HOSTS;
    const timeout = Math.max(PROBE_TIMEOUT, (usual ?? 0) * PROBE_TIMEOUT_FACTOR);
    return most > 1 ? timeout : Math.min(MAX_PROBE_TIMEOUT, timeout * 2 ** this.#probesInARow);
  }
}

/** Milliseconds after which a host that usually answers in `usual` is called silent. */
export function silenceOf(usual: number | null): number {
  return usual === null ? SILENCE_OF_UNKNOWN_HOSTS : Math.max(SILENCE, usual * SILENCE_FACTOR);
}
