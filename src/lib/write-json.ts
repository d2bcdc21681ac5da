/** Counts of tiles are bigints. Beyond 2^53 a JSON number loses its last digits, which do not matter in so large a count. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? Number(part) : part));
}

/** The same keys in another order are a difference. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
