/** Looks a parameter up by its name in upper case. Null: it is missing, or has no value. */
export type Kvp = (name: string) => string | null;

/**
 * The key-value pairs of a query, names in any case. A name that is given twice with different values is refused when
 * it is looked up, and not before: of names that nobody looks up we need not have an opinion.
 */
export function readKvp(query: string, refusal: (name: string) => Error): Kvp {
  const values = new Map<string, string>();
  const contradictory = new Set<string>();
  for (const [key, value] of new URLSearchParams(query)) {
    const name = key.toUpperCase();
    if ((values.get(name) ?? value) !== value) contradictory.add(name);
    values.set(name, value);
  }
  return (name) => {
    if (contradictory.has(name)) throw refusal(name);
    return values.get(name) || null;
  };
}
