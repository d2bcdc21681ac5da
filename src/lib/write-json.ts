/** What counts tiles is a bigint inside. Beyond 2^53 a JSON number loses its last digits, which a count that large can spare. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? Number(part) : part));
}
