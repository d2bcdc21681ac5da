import type { RequestCount, TileStore } from '../storage/tile-store.ts';

export interface StoreRequestCount extends RequestCount {
  readonly store: string;
}

/** Adds up what the processes of a server have asked of object stores. */
export class StoreRequestCounts {
  readonly #stores: ReadonlyMap<string, Pick<TileStore, 'requests'>>;
  /** Of other processes, by store and operation. */
  readonly #others = new Map<string, StoreRequestCount>();
  #taken = new Map<string, StoreRequestCount>();

  constructor(stores: ReadonlyMap<string, Pick<TileStore, 'requests'>>) {
    this.#stores = stores;
  }

  add(count: StoreRequestCount): void {
    this.#others.set(nameOf(count), plus(count, this.#others.get(nameOf(count)), 1));
  }

  all(): readonly StoreRequestCount[] {
    const sum = new Map(this.#others);
    for (const count of this.#own()) sum.set(nameOf(count), plus(count, sum.get(nameOf(count)), 1));
    return [...sum.values()];
  }

  /** What this process has asked since the last call, for whoever adds it up elsewhere. */
  take(): readonly StoreRequestCount[] {
    const own = this.#own();
    const news = own.map((count) => plus(count, this.#taken.get(nameOf(count)), -1));
    this.#taken = new Map(own.map((count) => [nameOf(count), count]));
    return news.filter(({ requests, failures }) => requests + failures > 0);
  }

  #own(): readonly StoreRequestCount[] {
    return [...this.#stores].flatMap(([store, { requests }]) =>
      (requests?.() ?? []).map((count) => ({ store, ...count })),
    );
  }
}

function nameOf({ store, operation }: StoreRequestCount): string {
  return `${store} ${operation}`;
}

function plus(count: StoreRequestCount, other: RequestCount | undefined, sign: 1 | -1): StoreRequestCount {
  if (!other) return count;
  return {
    ...count,
    requests: count.requests + sign * other.requests,
    failures: count.failures + sign * other.failures,
    bytes: count.bytes + sign * other.bytes,
  };
}
