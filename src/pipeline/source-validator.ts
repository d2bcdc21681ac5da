import { createHash } from 'node:crypto';
import type { BoundLayer } from '../catalog/catalog.ts';

const marks = new WeakMap<BoundLayer, string>();

/** Tells sources apart: another one may confirm a validator that the first has sent, and mean another picture. */
function markOf(bound: BoundLayer): string {
  const known = marks.get(bound);
  if (known !== undefined) return known;
  const source = JSON.stringify(bound.declared?.source ?? null);
  const mark = `${createHash('sha256').update(source).digest('hex').slice(0, 12)} `;
  marks.set(bound, mark);
  return mark;
}

/** As it is stored with tiles. */
export function markedValidator(bound: BoundLayer, validator: string | null): string | null {
  return validator === null ? null : `${markOf(bound)}${validator}`;
}

/** As the source sent it; null when it was another source. */
export function ownValidator(bound: BoundLayer, stored: string | null): string | null {
  const mark = markOf(bound);
  return stored?.startsWith(mark) ? stored.slice(mark.length) : null;
}
