/** A request may begin this much before its turn: timers are not exact. */
const TOLERANCE_MS = 25;
/** After this time a request is taken to have reached the server, even without a response. */
const MAX_TRANSIT_MS = 500;

export interface RateTicket {
  /** The server has responded, or the request was given up: it reached the server before now, or never will. */
  end(now: number): void;
}

interface Begun {
  readonly at: number;
  ended: boolean;
}

/**
 * Decides when requests may begin: at most the allowed number in any second, as the server counts them. When a request
 * reaches the server is unknown, only that it is after its start and before its response. So its place in the second is
 * free again one second after its response, or after the longest transit if that ends earlier. Requests also begin evenly,
 * since a burst is hard on a server. Below one a second the window is longer: 0.1 means one in ten seconds.
 */
export class RateWindow {
  #windowMs = 0;
  #intervalMs = 0;
  #places = 0;
  /** Requests on their way, the oldest first. */
  readonly #begun = new Set<Begun>();
  /** When places become free again, in order; those before `#head` have been used. */
  #free: number[] = [];
  #head = 0;
  /** Earliest start of the next request for an even rate. */
  #nextEvenAt = Number.NEGATIVE_INFINITY;

  constructor(ratePerSecond: number) {
    this.setRate(ratePerSecond);
  }

  /** Requests already begun still count. */
  setRate(ratePerSecond: number): void {
    this.#intervalMs = 1000 / ratePerSecond;
    this.#windowMs = Math.max(1000, this.#intervalMs);
    this.#places = Math.max(1, Math.floor(ratePerSecond));
  }

  /** Milliseconds until another request may begin, as far as known; 0: now. */
  delayAt(now: number): number {
    this.#expire(now);
    return Math.max(0, this.#placeAt(now) - now, this.#nextEvenAt - TOLERANCE_MS - now);
  }

  begin(now: number): RateTicket {
    this.#expire(now);
    const begun: Begun = { at: now, ended: false };
    this.#begun.add(begun);
    this.#nextEvenAt = Math.max(now, this.#nextEvenAt) + this.#intervalMs;
    return { end: (at) => this.#end(begun, at) };
  }

  #placeAt(now: number): number {
    if (this.#begun.size + this.#free.length - this.#head < this.#places) return now;
    const next = this.#free[this.#head];
    if (next !== undefined) return next;
    const [oldest] = this.#begun;
    return (oldest?.at ?? now) + MAX_TRANSIT_MS + this.#windowMs;
  }

  #end(begun: Begun, at: number): void {
    if (begun.ended) return;
    begun.ended = true;
    this.#begun.delete(begun);
    this.#free.push(Math.max(this.#free.at(-1) ?? at, at + this.#windowMs));
  }

  #expire(now: number): void {
    for (const begun of this.#begun) {
      if (begun.at + MAX_TRANSIT_MS > now) break;
      this.#end(begun, begun.at + MAX_TRANSIT_MS);
    }
    while ((this.#free[this.#head] ?? Number.POSITIVE_INFINITY) <= now) this.#head++;
    if (this.#head < 1024) return;
    this.#free = this.#free.slice(this.#head);
    this.#head = 0;
  }
}
