/** Counts of tiles are bigints. Beyond 2^53 a JSON number loses its last digits, which do not matter in a count that large. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? Number(part) : part));
}
