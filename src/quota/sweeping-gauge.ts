import type { Clock } from '../lib/clock.ts';
import type { SweepingStatistics, TileStore } from '../storage/tile-store.ts';

/** A measurement takes at most this share of the time: a store may have a million dropped files. */
const SHARE = 0.01;
/** Milliseconds that a caller waits for a measurement when there is an earlier one. */
const WAIT_TIMEOUT_MS = 200;

/** What all stores have dropped that still takes room, as of some moment not long ago. */
export function createSweepingGauge(stores: ReadonlyMap<string, TileStore>, clock: Clock) {
  let last: SweepingStatistics | null = null;
  let dueAt = Number.NEGATIVE_INFINITY;
  let measuring: Promise<SweepingStatistics> | null = null;

  async function measure(): Promise<SweepingStatistics> {
    const begun = clock.monotonic();
    const all = await Promise.all([...stores.values()].map((store) => store.sweeping()));
    const files = all.reduce((sum, each) => sum + each.files, 0);
    last = { files, bytes: all.reduce((sum, each) => sum + each.bytes, 0) };
    const took = clock.monotonic() - begun;
    dueAt = clock.monotonic() + took / SHARE;
    return last;
  }

  return async (): Promise<SweepingStatistics> => {
    if (last && clock.monotonic() < dueAt) return last;
    measuring ??= measure().finally(() => {
      measuring = null;
    });
    const known = last;
    if (!known) return measuring;
    const tooLong = new AbortController();
    const timeout = clock.sleep(WAIT_TIMEOUT_MS, tooLong.signal).then(
      () => known,
      () => known,
    );
    return Promise.race([measuring, timeout]).finally(() => tooLong.abort());
  };
}
