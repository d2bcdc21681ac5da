import { type Channel, messageKind } from '../lib/channel.ts';
import type { Clock } from '../lib/clock.ts';
import type { BlankSuspect, BlankSuspects } from './blank-suspects.ts';
import type { LayerActivity, LayerNews } from './layer-activity.ts';
import type { CountedEvent, PipelineCounters } from './pipeline-counters.ts';
import type { StoreRequestCount, StoreRequestCounts } from './store-request-counts.ts';

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

export interface CounterFeed {
  close(): Promise<void>;
}

/** Sends what a worker's pipeline has counted to its server, which adds it up with the others'. */
export function openCounterFeed(
  { counters, activity, ...noted }: CountedThings,
  channel: Channel,
  clock: Pick<Clock, 'sleep'>,
): CounterFeed {
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
