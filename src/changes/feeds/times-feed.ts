/** Times of a layer that follow its source. The last list stays in use while the source fails. */
import { MAX_LISTED_TIMES, readListedTimes } from '../../domain/time-values.ts';
import type { Clock } from '../../lib/clock.ts';
import type { FeedStore } from '../feed-store.ts';
import type { PolledFeed } from './polled-feed.ts';

export interface TimesFeedSettings {
  readonly name: string;
  readonly type: 'times';
  readonly layers: readonly [layer: string];
  readonly action: 'list';
  /** Upper case. */
  readonly parameter: string;
  /** See `originOfTimes`. */
  readonly origin: string;
  /** Null: the capabilities of the layer's source. */
  readonly postgres: { readonly url: string; readonly query: string } | null;
  /** Seconds between polls. */
  readonly every: number;
}

export interface TimesFeedOptions {
  /** Times in the capabilities of the layer's source. */
  readonly dimensionValues: (
    layer: string,
    dimension: string,
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /** Durable, and applied by all processes, when it resolves. */
  readonly keep: (feed: TimesFeedSettings, values: string) => Promise<boolean>;
}

/** Seconds until a list that could not be read is tried again, unless `every` is shorter. */
const RETRY_SECONDS = 10;

export function createTimesFeed(
  feed: TimesFeedSettings,
  { dimensionValues, keep }: TimesFeedOptions,
  { store, clock }: { readonly store: FeedStore; readonly clock: Pick<Clock, 'sleep'> },
): PolledFeed {
  const [layer] = feed.layers;
  const dimension = feed.parameter.replace(/^DIM_/, '');
  let hasFailed = false;

  const read = (signal: AbortSignal) =>
    feed.postgres ? queryTimes(feed.postgres) : dimensionValues(layer, dimension, signal);

  return {
    async poll(signal) {
      const values = await readListedTimes(await read(signal));
      const written = values.written();
      if (written === '') throw new Error('The source lists no times.');
      if (!signal.aborted && (await keep(feed, written)))
        await store.record(feed.name, { received: 1, applied: 1, changes: [] });
      hasFailed = false;
    },
    rest: (signal) =>
      clock.sleep((hasFailed ? Math.min(RETRY_SECONDS, feed.every) : feed.every) * 1000, signal),
    async leave() {
      hasFailed = true;
    },
  };
}

/** The values of the first column, times in ISO 8601, as `to_json` writes them. */
async function queryTimes({ url, query }: { readonly url: string; readonly query: string }) {
  const { queryReadOnly } = await import('../../db/postgres/session-client.ts');
  const rows = await queryReadOnly(
    url,
    `select to_json(value) #>> '{}' from (${query.replace(/;\s*$/, '')}\n) as times(value)
     where value is not null limit ${MAX_LISTED_TIMES + 1}`,
  );
  return rows.map(([value]) => String(value));
}
