import { type Channel, messageKind } from '../lib/channel.ts';
import type { Clock } from '../lib/clock.ts';
import type { BlankSuspect, BlankSuspects } from './blank-suspects.ts';
import type { LayerActivity, LayerNews } from './layer-activity.ts';
import type { CountedEvent, PipelineCounters } from './pipeline-counters.ts';

interface Counted {
  readonly counts: readonly CountedEvent[];
  readonly layers: readonly LayerNews[];
  readonly suspects: readonly BlankSuspect[];
}

const COUNTED = messageKind<Counted>('pipeline-counts');

export interface CountedThings {
  readonly counters: PipelineCounters;
  readonly activity: LayerActivity;
  readonly suspects: BlankSuspects;
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
    if (counts.length + layers.length + suspects.length === 0) return;
    channel.tell(COUNTED, { counts, layers, suspects });
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

export function addCountsOf(channel: Channel, { counters, activity, suspects }: CountedThings): void {
  channel.handle(COUNTED, (counted) => {
    for (const event of counted.counts) counters.add(event);
    for (const news of counted.layers) activity.add(news);
    for (const suspect of counted.suspects) suspects.add(suspect);
  });
}
