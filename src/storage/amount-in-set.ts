import type { TileSetKey } from '../domain/tile-key.ts';
import { NO_CHANGE, type StoreChange, sumOfChanges, type TileStore } from './tile-store.ts';

/** All tiles of a set, from the page tables alone. */
export async function amountInSet(store: TileStore, set: TileSetKey): Promise<StoreChange> {
  let amount: StoreChange = NO_CHANGE;
  for await (const page of store.pages(set)) amount = sumOfChanges([amount, page]);
  return amount;
}
