import { type Channel, messageKind } from '../lib/channel.ts';
import { openRepeater } from '../lib/repeat.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import type { RequestCount, TileStore } from '../storage/tile-store.ts';

/** Counts what happens in one process, and adds up what was counted in others. */
interface Tally {
  /** What is new since the last call. */
  take(): readonly unknown[];
  add(one: unknown): void;
}

/** By a name that both processes know it by. */
type Tallies = Readonly<Record<string, Tally>>;

const COUNTED = messageKind<Readonly<Record<string, readonly unknown[]>>>('pipeline-counts');
/** Milliseconds. */
const INTERVAL = 1000;

/** Sends what a worker's pipeline has counted to its server, which adds it up with the others'. */
export function openCounterFeed(tallies: Tallies, channel: Channel, surroundings: Surroundings) {
  function sendNow(): void {
    const counted = Object.entries(tallies).map(([name, tally]) => [name, tally.take()] as const);
    const news = counted.filter(([, taken]) => taken.length > 0);
    if (news.length > 0) channel.tell(COUNTED, Object.fromEntries(news));
  }

  const sending = openRepeater(sendNow, {
    ...surroundings,
    pause: INTERVAL,
    pauseFirst: true,
    failure: 'counters could not be reported',
  });
  return { close: () => sending.close().then(sendNow) };
}

export function addCountsOf(channel: Channel, tallies: Tallies): void {
  channel.handle(COUNTED, (sent) => {
    for (const [name, taken] of Object.entries(sent)) for (const one of taken) tallies[name]?.add(one);
  });
}

interface StoreRequestCount extends RequestCount {
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
