/** A GeoRSS feed, read at intervals. Applied entries are recorded by id and time, so a failed read loses nothing. */
import { isoTime } from '../../lib/clock.ts';
import { type FeedSettingsOf, srsOf } from '../change-options.ts';
import type { PolledFeed, PolledFeedTools } from './polled-feed.ts';
import { type GeoRssEntry, readGeoRss } from './read-georss.ts';

/** By the client of all upstreams, whose limits apply. */
export type FetchDocument = (url: URL, signal: AbortSignal) => Promise<Buffer>;

/** Entries that are applied together. */
const MAX_ENTRIES = 1000;

export function createGeoRssFeed(
  feed: FeedSettingsOf<'georss'>,
  fetchDocument: FetchDocument,
  { intake, store, clock }: PolledFeedTools,
): PolledFeed {
  async function newestApplied(): Promise<number> {
    return (await store.rows()).find(({ name }) => name === feed.name)?.newest ?? 0;
  }

  /** Those that were not seen, or were seen with an earlier time; of two with one id the later. */
  async function unseen(entries: readonly GeoRssEntry[]): Promise<readonly GeoRssEntry[]> {
    const latest = new Map<string, GeoRssEntry>();
    for (const entry of entries) {
      if ((latest.get(entry.id)?.at ?? -1) <= entry.at) latest.set(entry.id, entry);
    }
    const times = await store.entryTimes(feed.name, [...latest.keys()]);
    return [...latest.values()].filter(({ id, at }) => at > (times.get(id) ?? -1));
  }

  /** The newest time comes with the last of them: an address with it would leave out those that are missing. */
  async function take(entries: readonly GeoRssEntry[], newest: number | null): Promise<string | null> {
    let fault: string | null = null;
    const changes = entries.flatMap(({ place }) => {
      if (typeof place !== 'string') return [{ layers: null, place }];
      fault = place;
      return [];
    });
    await intake.accept({
      changes,
      received: entries.length,
      entries: entries.map(({ id, at }) => ({ id, at })),
      ...(newest !== null && { newest }),
    });
    return fault;
  }

  return {
    async look(signal) {
      const applied = await newestApplied();
      const since = encodeURIComponent(timeOf(applied));
      const url = new URL(feed.url.replaceAll('{since}', since).replaceAll('$' + '{lastUpdate}', since));
      const document = await fetchDocument(url, signal);
      const entries = await readGeoRss(document, srsOf(feed.srs));
      const fresh = await unseen(entries);
      let fault: string | null = null;
      for (let at = 0; at < fresh.length && !signal.aborted; at += MAX_ENTRIES) {
        await intake.waiting(fresh.length - at);
        const isLast = at + MAX_ENTRIES >= fresh.length;
        fault =
          (await take(fresh.slice(at, at + MAX_ENTRIES), isLast ? newestOf(fresh, applied) : null)) ?? fault;
      }
      if (signal.aborted) return;
      await intake.waiting(0);
      await store.entriesSeen(
        feed.name,
        entries.map(({ id }) => id),
      );
      if (fault !== null) await intake.works(fault);
    },
    rest: (signal) => clock.sleep(feed.intervalSeconds * 1000, signal),
  };
}

function newestOf(entries: readonly GeoRssEntry[], before: number): number {
  return entries.reduce(
    (newest, { at, place }) => (typeof place === 'string' ? newest : Math.max(newest, at)),
    before,
  );
}

/** Without milliseconds where there are none, as before the first entry. */
function timeOf(milliseconds: number): string {
  return isoTime(milliseconds).replace('.000Z', 'Z');
}
