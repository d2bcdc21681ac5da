import { setImmediate as nextTurn } from 'node:timers/promises';
import { createDeferred, type Deferred } from './deferred.ts';

interface Waiting<Item, Response> extends Deferred<Response> {
  readonly item: Item;
}

/**
 * Items that are added in one turn of the event loop, or during a batch, form the next batch. After a failure of a
 * batch its items are tried one by one. `work` returns a response for each item.
 */
export function inBatches<Item, Response>(work: (items: readonly Item[]) => Promise<readonly Response[]>) {
  let waiting: Waiting<Item, Response>[] = [];
  let running: Promise<void> | null = null;

  async function runBatch(batch: readonly Waiting<Item, Response>[]): Promise<void> {
    try {
      const answers = await work(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Response);
    } catch (error) {
      if (batch.length === 1) batch[0]?.reject(error);
      else for (const one of batch) await runBatch([one]);
    }
  }

  async function run(): Promise<void> {
    await nextTurn();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await runBatch(batch);
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
