import type { Clock } from '../lib/clock.ts';
import type { BlankSuspect, BlankSuspects } from './blank-suspects.ts';
import type { LayerActivity, LayerNews } from './layer-activity.ts';
import type { CountedEvent, PipelineCounters } from './pipeline-counters.ts';

interface CountsMessage {
  readonly type: 'pipeline-counts';
  readonly counts: readonly CountedEvent[];
  readonly layers: readonly LayerNews[];
  readonly suspects: readonly BlankSuspect[];
}

export interface CountedThings {
  readonly counters: PipelineCounters;
  readonly activity: LayerActivity;
  readonly suspects: BlankSuspects;
}

/** The part of `process` that a forked worker speaks through. */
export interface CountsChannel {
  send?(message: CountsMessage, handle: undefined, options: undefined, sent: () => void): boolean;
}

/** The part of a worker's process that the server hears. */
export interface CountsSender {
  on(event: 'message', listener: (message: CountsMessage | { readonly type: string }) => void): unknown;
}

/** Milliseconds. */
const INTERVAL = 1000;

export interface CounterFeed {
  close(): Promise<void>;
}

/** Sends what a worker's pipeline has counted to its server, which adds it up with the others'. */
export function openCounterFeed(
  { counters, activity, ...noted }: CountedThings,
  channel: CountsChannel,
  clock: Pick<Clock, 'sleep'>,
): CounterFeed {
  const ending = new AbortController();

  function sendNow(): void {
    const counts = counters.take();
    const layers = activity.take();
    const suspects = noted.suspects.take();
    if (counts.length + layers.length + suspects.length === 0) return;
    channel.send?.({ type: 'pipeline-counts', counts, layers, suspects }, undefined, undefined, () => {});
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

export function addCountsOf(worker: CountsSender, { counters, activity, suspects }: CountedThings): void {
  worker.on('message', (message) => {
    if (!isCounts(message)) return;
    for (const event of message.counts) counters.add(event);
    for (const news of message.layers) activity.add(news);
    for (const suspect of message.suspects) suspects.add(suspect);
  });
}

function isCounts(message: { readonly type: string }): message is CountsMessage {
  return message.type === 'pipeline-counts';
}
