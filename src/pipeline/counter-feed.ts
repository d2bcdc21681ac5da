import { type Channel, messageKind } from '../lib/channel.ts';
import type { Clock } from '../lib/clock.ts';
import type { RequestCount, TileStore } from '../storage/tile-store.ts';
import type { BlankSuspect, BlankSuspects } from './blank-watch.ts';
import type { LayerActivity, LayerNews } from './layer-activity.ts';
import type { CountedEvent, PipelineCounters } from './pipeline-counters.ts';

interface Counted {
  readonly counts: readonly CountedEvent[];
  readonly layers: readonly LayerNews[];
  readonly suspects: readonly BlankSuspect[];
  readonly requests: readonly StoreRequestCount[];
}

const COUNTED = messageKind<Counted>('pipeline-counts');

export interface CountedThings {
  readonly counters: PipelineCounters;
  readonly activity: LayerActivity;
  readonly suspects: BlankSuspects;
  readonly storeRequests: StoreRequestCounts;
}

/** Milliseconds. */
const INTERVAL = 1000;

/** Sends what a worker's pipeline has counted to its server, which adds it up with the others'. */
export function openCounterFeed(
  { counters, activity, ...noted }: CountedThings,
  channel: Channel,
  clock: Pick<Clock, 'sleep'>,
): { close(): Promise<void> } {
  const ending = new AbortController();

  function sendNow(): void {
    const counts = counters.take();
    const layers = activity.take();
    const suspects = noted.suspects.take();
    const requests = noted.storeRequests.take();
    if (counts.length + layers.length + suspects.length + requests.length === 0) return;
    channel.tell(COUNTED, { counts, layers, suspects, requests });
  }

  async function sendAgainAndAgain(): Promise<void> {
    while (!ending.signal.aborted) {
      await clock.sleep(INTERVAL, ending.signal).catch(() => {});
      sendNow();
    }
  }

  const sending = sendAgainAndAgain();
  return {
    async close() {
      ending.abort();
      await sending;
    },
  };
}

export function addCountsOf(channel: Channel, counted: CountedThings): void {
  const { counters, activity, suspects, storeRequests } = counted;
  channel.handle(COUNTED, (sent) => {
    for (const event of sent.counts) counters.add(event);
    for (const news of sent.layers) activity.add(news);
    for (const suspect of sent.suspects) suspects.add(suspect);
    for (const count of sent.requests) storeRequests.add(count);
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
