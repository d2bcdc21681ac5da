const MOST_NAMED = 20;

/** Names for a message, not more than one can read: `a, b, c and 7 more`. */
export function someOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  const listed = names.slice(0, MOST_NAMED).join(', ');
  return more > 0 ? `${listed} and ${more} more` : listed;
}
