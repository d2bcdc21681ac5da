import { setImmediate as nextTurn } from 'node:timers/promises';
import { type StoreChange, sumOfChanges } from '../store.ts';
import { FIRST_PACK, type PackCursor } from './index-reader.ts';

/** Some rows, and where to continue; null after the last. */
export interface Slice<Item, Cursor> {
  readonly items: readonly Item[];
  readonly next: Cursor | null;
}

export async function* eachSlice<Item, Cursor>(
  first: Cursor,
  read: (after: Cursor) => Promise<Slice<Item, Cursor>>,
): AsyncGenerator<readonly Item[]> {
  for (let after = first; ; await nextTurn()) {
    const { items, next }: Slice<Item, Cursor> = await read(after);
    if (items.length > 0) yield items;
    if (next === null) return;
    after = next;
  }
}

/** Edits slice by slice, as `Store.edit`. */
export async function editSlices(
  signal: AbortSignal | undefined,
  edit: (after: PackCursor) => Promise<StoreChange & { readonly next: PackCursor | null }>,
): Promise<StoreChange> {
  const sums: StoreChange[] = [];
  for (let after: PackCursor | null = FIRST_PACK; after; ) {
    signal?.throwIfAborted();
    const result: Awaited<ReturnType<typeof edit>> = await edit(after);
    sums.push(result);
    after = result.next;
  }
  return sumOfChanges(sums);
}
