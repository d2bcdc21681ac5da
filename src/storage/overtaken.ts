/** Milliseconds. A fetch takes less; a greater distance comes from a clock that has been set back. */
const LONGEST_RACE = 300_000;

/**
 * Whether a tile asked of its source at `createdAt` comes too late: one that was asked for after it is there. What is
 * ahead of `now` was made before the clock was set back.
 */
export function isOvertaken(createdAt: number, presentSince: number, now: number): boolean {
  return createdAt < presentSince && presentSince <= now && presentSince - createdAt < LONGEST_RACE;
}
