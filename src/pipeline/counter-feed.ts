import { type Channel, messageKind } from '../lib/channel.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';

/** Counts in one process, and sums the counts of others. */
interface Tally {
  take(): readonly unknown[];
  add(one: unknown): void;
}

/** By a name that both processes know it by. */
type Tallies = Readonly<Record<string, Tally>>;

const COUNTED = messageKind<Readonly<Record<string, readonly unknown[]>>>('pipeline-counts');
/** Milliseconds. */
const INTERVAL = 1000;

/** Sends the counts of a worker's pipeline to its server, which sums them. */
export function openCounterFeed(tallies: Tallies, channel: Channel, env: Env) {
  function sendNow(): void {
    const counted = Object.entries(tallies).map(([name, tally]) => [name, tally.take()] as const);
    const changed = counted.filter(([, taken]) => taken.length > 0);
    if (changed.length > 0) channel.tell(COUNTED, Object.fromEntries(changed));
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
