import { type Channel, messageKind } from '../lib/channel.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';

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
export function openCounterFeed(tallies: Tallies, channel: Channel, env: Env) {
  function sendNow(): void {
    const counted = Object.entries(tallies).map(([name, tally]) => [name, tally.take()] as const);
    const news = counted.filter(([, taken]) => taken.length > 0);
    if (news.length > 0) channel.tell(COUNTED, Object.fromEntries(news));
  }

  const sending = openRepeater(sendNow, {
    ...env,
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
