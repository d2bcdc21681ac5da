/** Milliseconds. A fetch takes less; a greater distance comes from a clock that has been set back. */
const LONGEST_RACE = 300_000;

/** Whether a tile asked of its source at `createdAt` comes too late: one that was asked for after it is there. */
export function isOvertaken(createdAt: number, presentSince: number): boolean {
  return createdAt < presentSince && presentSince - createdAt < LONGEST_RACE;
}
