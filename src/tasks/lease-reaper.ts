import type { Env } from '../lib/env.ts';
import { openRepeater, type Repeater } from '../lib/repeat.ts';
import type { LeaseStore } from './store/lease-store.ts';

/** Milliseconds. A holder reports every second; one that has not for this long is taken to be gone. */
const SILENCE = 15_000;
const LOOK_INTERVAL = 2500;
/** After a longer pause between looks (a stopped process, a database that was away) nothing is known about holders. */
const MAX_PAUSE = 3 * LOOK_INTERVAL;

interface Sight {
  readonly beat: number;
  readonly since: number;
}

/**
 * Takes leases back from holders that have gone silent. Silence is what this process has seen by its monotonic
 * clock, so setting the time of day costs no living worker its lease.
 */
export function openLeaseReaper(leases: LeaseStore, { clock, log }: Env): Repeater {
  let sights = new Map<number, Sight>();
  let lastLook = clock.monotonic();

  async function look(): Promise<void> {
    const beats = await leases.beats();
    const now = clock.monotonic();
    const known = now - lastLook > MAX_PAUSE ? new Map<number, Sight>() : sights;
    lastLook = now;
    sights = new Map();
    for (const { token, beat } of beats) {
      const before = known.get(token);
      const since = before?.beat === beat ? before.since : now;
      sights.set(token, { beat, since });
      if (now - since < SILENCE) continue;
      log.warn({ token }, 'a worker stopped responding; its piece goes to another');
      await leases.free({ token }, true);
    }
  }

  return openRepeater(look, { clock, log, pause: LOOK_INTERVAL, failure: 'checking leases failed' });
}
