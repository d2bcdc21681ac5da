import { setImmediate as nextTurn } from 'node:timers/promises';

const PER_TURN = 20;

/** All of what takes a while to make, one by one; others have their turns of the event loop meanwhile. */
export async function inTurns<Item>(items: Iterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (const item of items) {
    all.push(item);
    if (all.length % PER_TURN === 0) await nextTurn();
  }
  return all;
}
