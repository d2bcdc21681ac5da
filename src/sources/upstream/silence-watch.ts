export interface UnderWay {
  /** On the monotonic clock. */
  readonly begunAt: number;
}

export interface HostManner {
  /** Whether it is known to fail. */
  readonly failing: boolean;
  readonly most: number;
  /** Milliseconds that nearly all of its latest answers took at most; null: none is known. */
  readonly usualMs: () => number | null;
}

/** Milliseconds. A host is silent that has said nothing for so long, and for so many times its usual answer. */
const SILENCE = 1000;
const SILENCE_OF_USUAL = 5;
const SILENCE_OF_STRANGERS = 5000;
/** What a scout has to bring its answer, before the next one takes its place. */
const PATIENCE = 600;
const PATIENCE_OF_USUAL = 2;
const MAX_PATIENCE = 15_000;

/**
 * Notices when a host that has requests under way says nothing any more, and says when one more may be sent to see
 * whether it speaks again. The others keep their time: they may only be slow. One place is enough for scouts, each
 * follows the one before.
 */
export class SilenceWatch<Request extends UnderWay> {
  /** In the order of their beginning. */
  readonly #underWay = new Set<Request>();
  #answeredAt = Number.NEGATIVE_INFINITY;
  #scout: Request | null = null;
  #scoutedAt = Number.NEGATIVE_INFINITY;
  #scoutsInARow = 0;

  begun(request: Request, isScout: boolean): void {
    this.#underWay.add(request);
    if (!isScout) return;
    this.#scout = request;
    this.#scoutedAt = request.begunAt;
    this.#scoutsInARow++;
  }

  /** `at`: when the host said something, whatever it was; null: it has not. */
  ended(request: Request, at: number | null): void {
    this.#underWay.delete(request);
    if (this.#scout === request) this.#scout = null;
    if (at === null) return;
    this.#answeredAt = at;
    this.#scoutsInARow = 0;
  }

  isScout(request: Request): boolean {
    return this.#scout === request;
  }

  all(): readonly Request[] {
    return [...this.#underWay];
  }

  /** Milliseconds until a scout may be sent, as far as is known; 0: now, infinite: there is nothing to wait for. */
  delayAt(now: number, { failing, most, usualMs }: HostManner): number {
    const first = this.#firstUnanswered();
    if (!first) return Number.POSITIVE_INFINITY;
    const soonest = this.#dueAt(first, failing ? PATIENCE : SILENCE, PATIENCE);
    if (soonest > now) return soonest - now;
    const usual = usualMs();
    const patience = this.#patience(usual, failing, most);
    const silence = failing ? patience : silenceOf(usual);
    return Math.max(0, this.#dueAt(first, silence, patience) - now);
  }

  /** Whose place the next scout takes; null: there is room. */
  givesWay(most: number): Request | null {
    if (this.#scout) return this.#scout;
    return this.#underWay.size >= most ? this.#firstUnanswered() : null;
  }

  /** What began before the host last spoke may just be slow. */
  #firstUnanswered(): Request | null {
    for (const request of this.#underWay) if (request.begunAt >= this.#answeredAt) return request;
    return null;
  }

  #dueAt(first: Request, silence: number, patience: number): number {
    return Math.max(first.begunAt + silence, this.#scoutedAt + patience);
  }

  /** With a single place a scout is all there is: each gets longer than the one before, lest none ever ends. */
  #patience(usual: number | null, failing: boolean, most: number): number {
    if (usual === null && !failing) return SILENCE_OF_STRANGERS;
    const patience = Math.max(PATIENCE, (usual ?? 0) * PATIENCE_OF_USUAL);
    return most > 1 ? patience : Math.min(MAX_PATIENCE, patience * 2 ** this.#scoutsInARow);
  }
}

/** Milliseconds after which a host that usually answers in `usual` is called silent. */
export function silenceOf(usual: number | null): number {
  return usual === null ? SILENCE_OF_STRANGERS : Math.max(SILENCE, usual * SILENCE_OF_USUAL);
}
