import { isRecord } from '../../lib/value-path.ts';

/**
 * A layer's declaration after its server has changed: fields that differ between the former and the next document of the
 * server are changed, except those that an administrator has set to something else.
 */
export function mergeDocument(current: unknown, former: unknown, next: unknown): unknown {
  if (isSame(former, next) || isSame(current, next)) return current;
  if (isRecord(current) && isRecord(former) && isRecord(next)) {
    const keys = new Set([...Object.keys(current), ...Object.keys(next)]);
    const merged = Array.from(keys, (key) => [key, mergeDocument(current[key], former[key], next[key])]);
    return Object.fromEntries(merged.filter(([, value]) => value !== undefined));
  }
  return isSame(current, former) ? next : current;
}

/** The names of fields that differ. */
export function changedFields(before: unknown, after: unknown): readonly string[] {
  if (!isRecord(before) || !isRecord(after)) return [];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => !isSame(before[key], after[key]));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
