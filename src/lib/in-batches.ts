import { setImmediate as nextTurn } from 'node:timers/promises';
import { createDeferred, type Deferred } from './deferred.ts';

interface Waiting<Item, Response> extends Deferred<Response> {
  readonly item: Item;
}

/**
 * Items that are added in one turn, or during a batch, form the next batch. An item that makes a batch fail then fails
 * alone. `work` returns a response for each item.
 */
export function inBatches<Item, Response>(work: (items: readonly Item[]) => Promise<readonly Response[]>) {
  let waiting: Waiting<Item, Response>[] = [];
  let running: Promise<void> | null = null;

  async function settle(batch: readonly Waiting<Item, Response>[]): Promise<void> {
    try {
      const answers = await work(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Response);
    } catch (error) {
      if (batch.length === 1) batch[0]?.reject(error);
      else for (const one of batch) await settle([one]);
    }
  }

  async function run(): Promise<void> {
    await nextTurn();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await settle(batch);
    }
    running = null;
  }

  return {
    add(item: Item): Promise<Response> {
      const entry = { item, ...createDeferred<Response>() };
      waiting.push(entry);
      running ??= run();
      return entry.promise;
    },
    /** Resolves when everything added so far is done. */
    idle: async (): Promise<void> => {
      await running;
    },
  };
}
