/** A GeoRSS feed, read at intervals. Applied entries are recorded by id and time, so a failed read loses nothing. */
import { isoTime } from '../../lib/clock.ts';
import { type FeedSettingsOf, srsOf } from '../change-options.ts';
import { requestFailure } from '../request-failure.ts';
import type { PolledFeed, PolledFeedTools } from './polled-feed.ts';
import { type GeoRssEntry, readGeoRss } from './read-georss.ts';

export interface FetchedDocument {
  readonly bytes: Buffer;
  /** Null: the server sent none. */
  readonly validator: string | null;
}

/** By the client of all upstreams, whose limits apply. Null: the document is still that of the validator. */
export type FetchDocument = (
  url: URL,
  validator: string | null,
  signal: AbortSignal,
) => Promise<FetchedDocument | null>;

/** A document is read again after a day, even if unchanged: entries that were not seen for long are forgotten. */
const READ_AGAIN_MS = 86_400_000;
/** Entries that are applied together. */
const MAX_ENTRIES = 1000;

export function createGeoRssFeed(
  feed: FeedSettingsOf<'georss'>,
  fetchDocument: FetchDocument,
  { intake, store, clock }: PolledFeedTools,
): PolledFeed {
  /** The document that was applied last, and when it was read. */
  let applied: { readonly address: string; readonly validator: string | null; readonly at: number } | null =
    null;

  /** The time of the newest applied entry. A time from the future would leave out all entries until then. */
  async function newestApplied(): Promise<number> {
    const { newest } = await store.state(feed.name);
    return newest === null || newest > clock.now() ? 0 : newest;
  }

  /** New entries, and entries whose recorded time is earlier or in the future; the later of two with one id. */
  async function unseen(entries: readonly GeoRssEntry[]): Promise<readonly GeoRssEntry[]> {
    const latest = new Map<string, GeoRssEntry>();
    for (const entry of entries) {
      if ((latest.get(entry.id)?.at ?? -1) <= entry.at) latest.set(entry.id, entry);
    }
    const times = await store.entryTimes(feed.name, [...latest.keys()]);
    return [...latest.values()].filter(({ id, at }) => {
      const known = times.get(id) ?? -1;
      return at > known || (at < known && known > clock.now());
    });
  }

  /** The newest time is recorded with the last batch: an address with it would skip missing entries. */
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
    async poll(signal) {
      const begunAt = clock.now();
      const newest = await newestApplied();
      const since = encodeURIComponent(timeOf(newest));
      const address = feed.url.replaceAll('{since}', since).replaceAll('$' + '{lastUpdate}', since);
      const isKnown = applied?.address === address && begunAt - applied.at < READ_AGAIN_MS;
      const known = isKnown ? (applied?.validator ?? null) : null;
      const document = await fetchDocument(new URL(address), known, signal).catch((cause: unknown) => {
        throw new Error(requestFailure(cause, 'The server of the feed'), { cause });
      });
      if (!document) return;
      const entries = await readGeoRss(document.bytes, srsOf(feed.srs));
      const fresh = await unseen(entries);
      let fault: string | null = null;
      for (let at = 0; at < fresh.length && !signal.aborted; at += MAX_ENTRIES) {
        await intake.waiting(fresh.length - at);
        const isLast = at + MAX_ENTRIES >= fresh.length;
        const upTo = isLast ? newestOf(entries, newest, begunAt) : null;
        fault = (await take(fresh.slice(at, at + MAX_ENTRIES), upTo)) ?? fault;
      }
      if (signal.aborted) return;
      await intake.waiting(0);
      await store.entriesSeen(
        feed.name,
        entries.map(({ id }) => id),
      );
      if (fault !== null) await intake.works(fault);
      applied = { address, validator: document.validator, at: begunAt };
    },
    rest: (signal) => clock.sleep(feed.intervalSeconds * 1000, signal),
  };
}

/** Entries from the future do not count. */
function newestOf(entries: readonly GeoRssEntry[], before: number, now: number): number {
  return entries.reduce(
    (newest, { at, place }) => (typeof place === 'string' || at > now ? newest : Math.max(newest, at)),
    before,
  );
}

/** Without milliseconds where there are none, as before the first entry. */
function timeOf(milliseconds: number): string {
  return isoTime(milliseconds).replace('.000Z', 'Z');
}
