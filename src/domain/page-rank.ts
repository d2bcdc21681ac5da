/**
 * How often a page is requested, where a request counts half after twelve hours, as a number that does not change while
 * time passes: log₂ of the frequency plus the time ÷ half-life. All frequencies fade alike, so ranks order pages at any
 * time as their frequencies would. A page that was never requested has rank 0, which is below that of every request.
 */
export const NEVER_REQUESTED = 0;

/** Milliseconds after which a request counts half: yesterday's favourite has a quarter of its weight. */
export const HALF_LIFE = 12 * 3_600_000;

export function rankOfRequests(times: number, at: number): number {
  return Math.log2(times) + at / HALF_LIFE;
}

/** Rank of the sum of frequencies. */
export function addRanks(a: number, b: number): number {
  return Math.max(a, b) + Math.log2(1 + 2 ** -Math.abs(a - b));
}

export function frequencyAt(rank: number, now: number): number {
  return rank === NEVER_REQUESTED ? 0 : 2 ** (rank - now / HALF_LIFE);
}
