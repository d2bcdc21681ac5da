/** The last day with security fixes, by major version of Node.js. Other versions up to the newest here are over. */
const END_OF_LIFE: Readonly<Record<number, string>> = {
  20: '2026-04-30',
  22: '2027-04-30',
  24: '2028-04-30',
  26: '2029-04-30',
};
const DAY_MS = 86_400_000;
const NEWEST = Math.max(...Object.keys(END_OF_LIFE).map(Number));

/** Null for a version that still gets security fixes, and for one that is newer than the table. */
export function endOfLifeNotice(version: string, now: number): string | null {
  const major = Number.parseInt(version, 10);
  const lastDay = END_OF_LIFE[major] ?? null;
  if (major > NEWEST || (lastDay !== null && now < Date.parse(lastDay) + DAY_MS)) return null;
  const since = lastDay === null ? 'gets no security fixes' : `has had no security fixes since ${lastDay}`;
  return `Node.js ${version} ${since}; Node.js ${NEWEST} is recommended`;
}
