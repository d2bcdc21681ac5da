import { setImmediate as nextTurn } from 'node:timers/promises';

const PER_TURN = 20;

/** Collects items that take a while to make, and yields to the event loop between them. */
export async function collectYielding<Item>(items: Iterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (const item of items) {
    all.push(item);
    if (all.length % PER_TURN === 0) await nextTurn();
  }
  return all;
}

/** Works on all of them, `lanes` at a time; yields to the event loop in between. */
export async function withConcurrency<Item>(
  items: Iterable<Item>,
  lanes: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  let isOver = false;
  const lane = async () => {
    for (let next = waiting.next(); !next.done && !isOver; next = waiting.next()) {
      await work(next.value);
      // Items without work finish synchronously, thousands of times.
      await nextTurn();
    }
  };
  // After a failure the others must stop.
  await Promise.all(Array.from({ length: lanes }, lane)).finally(() => {
    isOver = true;
  });
}

/** Resolves when the work may go on. */
export type Pace = (units: number) => Promise<unknown>;

/** For long work in small parts: ends the turn of the event loop after every `perTurn` units of it. */
export function createPace(perTurn: number, turn: () => Promise<unknown> = () => nextTurn()): Pace {
  let done = 0;
  return async (units) => {
    done += units;
    if (done < perTurn) return;
    done = 0;
    await turn();
  };
}
