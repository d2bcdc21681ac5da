import type { Clock } from '../lib/clock.ts';
import type { CountedEvent, PipelineCounters } from './pipeline-counters.ts';

interface CountsMessage {
  readonly type: 'pipeline-counts';
  readonly counts: readonly CountedEvent[];
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
  counters: PipelineCounters,
  channel: CountsChannel,
  clock: Pick<Clock, 'sleep'>,
): CounterFeed {
  const ending = new AbortController();

  function sendNow(): void {
    const counts = counters.take();
    if (counts.length > 0)
      channel.send?.({ type: 'pipeline-counts', counts }, undefined, undefined, () => {});
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

export function addCountsOf(worker: CountsSender, counters: PipelineCounters): void {
  worker.on('message', (message) => {
    if (!isCounts(message)) return;
    for (const event of message.counts) counters.add(event);
  });
}

function isCounts(message: { readonly type: string }): message is CountsMessage {
  return message.type === 'pipeline-counts';
}
