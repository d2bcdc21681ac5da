import type { Env } from '../lib/env.ts';
import { repeat } from '../lib/repeat.ts';
import { NO_CHANGE, type StoreChange, sumOfChanges, type TileStore } from '../storage/tile-store.ts';
import type { Ledger } from './ledger.ts';
import type { LedgerBlock } from './ledger-block.ts';

interface RecounterOptions extends Env {
  readonly stores: ReadonlyMap<string, TileStore>;
  readonly ledger: Ledger;
  /** Milliseconds between two blocks. */
  readonly interval?: number;
}

/** A store of a million tiles is gone through in about half an hour, in small steps. */
const INTERVAL = 30_000;

/** Counts blocks tile by tile, one after the other, all day long, and mends what their statistics have wrong. */
export class Recounter {
  readonly #options: RecounterOptions;
  /** By how much they were wrong, all together. */
  drift: StoreChange = NO_CHANGE;

  constructor(options: RecounterOptions) {
    this.#options = options;
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { ledger, interval: pause = INTERVAL } = this.#options;
    let waiting: LedgerBlock[] = [];
    const work = async () => {
      if (waiting.length === 0) waiting = [...ledger.blocks()];
      const block = waiting.shift();
      if (block) await this.#recount(block);
    };
    const failure = 'a block could not be counted; retrying later';
    await repeat(work, { ...this.#options, pause, failure, pauseFirst: true }, signal);
  }

  async #recount({ store, id, set, z }: LedgerBlock): Promise<void> {
    const { stores, log } = this.#options;
    const found = (await stores.get(store)?.recount?.(id)) ?? NO_CHANGE;
    if (found.tiles === 0 && found.bytes === 0) return;
    this.drift = sumOfChanges([this.drift, found]);
    log.error(
      { store, block: id, layer: set.layer, z, ...found },
      'the statistics of a block were wrong and have been corrected; please report this bug',
    );
  }
}
