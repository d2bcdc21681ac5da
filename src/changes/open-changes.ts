import type { Catalog } from '../catalog/catalog.ts';
import type { Database, Lead } from '../db/database.ts';
import { openRepeater } from '../lib/repeat.ts';
import { replayChanges } from './apply-changes.ts';
import type { ChangeFeedSettings, FeedStatus } from './change-options.ts';
import { createFeedIntake, createFeedState, type FeedIntakeOptions } from './feed-intake.ts';
import { createFeedStore } from './feed-store.ts';
import { createFileFeed } from './feeds/file-feed.ts';
import { createGeoRssFeed, type FetchDocument } from './feeds/georss-feed.ts';
import { follow, type PolledFeed, type PolledFeedTools } from './feeds/polled-feed.ts';
import { createPostgresFeed } from './feeds/postgres-feed.ts';
import { createTileListFeed } from './feeds/tile-list-feed.ts';
import { createTimesFeed, type TimesFeedOptions, type TimesFeedSettings } from './feeds/times-feed.ts';
import { createWebhookFeed, type WebhookFeed } from './feeds/webhook-feed.ts';
import { feedsOfLayer, timesFeedsOf } from './layer-feeds.ts';

interface ChangesOptions extends Omit<FeedIntakeOptions, 'store'> {
  readonly feeds: readonly ChangeFeedSettings[];
  readonly catalog: Pick<Catalog, 'layer' | 'version' | 'declaration'>;
  /** Names of layers that have feeds of their own. */
  readonly withFeeds: () => Iterable<string>;
  readonly database: Database;
  readonly fetchDocument: FetchDocument;
  readonly keepTimes: TimesFeedOptions['keep'];
  readonly lead: Lead;
}

export type ChangesService = Awaited<ReturnType<typeof openChanges>>;

/** Milliseconds between checks whether layers have other feeds. */
const POLL_INTERVAL_MS = 1000;

type AnyFeed = ChangeFeedSettings | TimesFeedSettings;

interface RunningFeed {
  readonly feed: AnyFeed;
  close(): Promise<void>;
}

/** The feeds of data changes. A feed that names a layer that is not declared is failing, and still serves the others. */
export async function openChanges(options: ChangesOptions) {
  const { database, catalog, notifier, lead, clock, log } = options;
  const isDeclared = (layer: string) => catalog.layer(layer) !== null;
  const store = createFeedStore(database, clock);
  const webhooks = new Map<string, WebhookFeed>();
  const configured: RunningFeed[] = [];
  /** By their settings as text. */
  const ofLayers = new Map<string, RunningFeed>();
  let seen: number | null = null;
  /** By feed. */
  const faults = new Map<string, string | null>();

  function reportMissingLayers(): void {
    for (const feed of options.feeds) {
      const fault = faultOf(feed, isDeclared);
      if (fault === (faults.get(feed.name) ?? null)) continue;
      faults.set(feed.name, fault);
      notifier.changeFeed(feed.name, fault, 'layers');
      if (fault !== null) log.warn({ feed: feed.name, reason: fault }, 'the change feed is failing');
    }
  }

  async function dimensionValues(layer: string, dimension: string, signal: AbortSignal) {
    const read = catalog.layer(layer)?.source().dimensionValues;
    if (!read) throw new Error(`The source of layer ${layer} lists no dimensions.`);
    return read(dimension, signal);
  }

  async function start(feed: AnyFeed): Promise<RunningFeed> {
    await store.prepare(feed.name);
    if (feed.type === 'times') {
      const times = createTimesFeed(feed, { dimensionValues, keep: options.keepTimes }, { store, clock });
      const intake = createFeedState(feed.name, { store, notifier, log });
      const { close } = lead((signal) => follow(times, { intake, log }, signal));
      return { feed, close };
    }
    const intake = createFeedIntake(feed, { ...options, store });
    const tools = { intake, store, clock, log };
    if (feed.type === 'webhook') {
      const webhook = createWebhookFeed(feed, tools);
      webhooks.set(feed.name, webhook);
      return { feed, close: () => webhook.close() };
    }
    const reader = createPolledFeed(feed, options.fetchDocument, tools);
    const { close } = lead((signal) => follow(reader, tools, signal));
    return { feed, close };
  }

  async function followLayers(): Promise<void> {
    const { version } = catalog;
    if (version === seen) return;
    reportMissingLayers();
    const names = new Set(options.feeds.map(({ name }) => name));
    const feeds = [...options.withFeeds()].flatMap((name): readonly AnyFeed[] => {
      const bound = catalog.layer(name);
      const declared = catalog.declaration(name);
      return bound && declared ? [...feedsOfLayer(bound.layer), ...timesFeedsOf(name, declared)] : [];
    });
    const current = new Map(feeds.map((feed) => [JSON.stringify(feed), feed]));
    for (const [key, running] of ofLayers) {
      if (current.has(key)) continue;
      ofLayers.delete(key);
      await running.close();
    }
    for (const [key, feed] of current) {
      if (!ofLayers.has(key) && !names.has(feed.name)) ofLayers.set(key, await start(feed));
    }
    seen = version;
  }

  for (const feed of options.feeds) configured.push(await start(feed));
  await followLayers();
  const failure = 'could not read the feeds of layers';
  const polling = openRepeater(followLayers, {
    clock,
    log,
    pause: POLL_INTERVAL_MS,
    failure,
    pauseFirst: true,
  });
  const running = () => [...configured, ...ofLayers.values()];

  return {
    /** Null: no such webhook. */
    webhook: (name: string): WebhookFeed | null => webhooks.get(name) ?? null,

    recent: store.recent,

    /** Applies the feed's changes of the last hour again; null: no such feed. */
    async replay(name: string): Promise<number | null> {
      const feed = running().find((one) => one.feed.name === name)?.feed;
      if (!feed) return null;
      return feed.type === 'times' ? 0 : replayChanges(feed, store, options.apply);
    },

    /** In the order of the settings, feeds of layers last. */
    async list(): Promise<readonly FeedStatus[]> {
      const feeds = running().map(({ feed }) => feed);
      if (feeds.length === 0) return [];
      const rows = new Map((await store.rows()).map((row) => [row.name, row]));
      return feeds.map((feed) => {
        const { name, type, layers, action } = feed;
        const row = rows.get(name);
        const fault = faultOf(feed, isDeclared);
        return {
          name,
          type,
          layers,
          action,
          state: fault !== null || row?.state === 'failing' ? 'failing' : 'ok',
          lastAt: row?.last_at ?? null,
          lastError: fault ?? row?.last_error ?? null,
          received: row?.received ?? 0,
          applied: row?.applied ?? 0,
          pending: row?.pending ?? 0,
        };
      });
    },

    async close(): Promise<void> {
      await polling.close();
      await Promise.all(running().map((one) => one.close()));
    },
  };
}

function createPolledFeed(
  feed: Exclude<ChangeFeedSettings, { type: 'webhook' }>,
  fetchDocument: FetchDocument,
  tools: PolledFeedTools,
): PolledFeed {
  if (feed.type === 'postgres') return createPostgresFeed(feed, tools);
  if (feed.type === 'georss') return createGeoRssFeed(feed, fetchDocument, tools);
  if (feed.type === 'file') return createFileFeed(feed, tools);
  return createTileListFeed(feed, tools);
}

/** Null: all its layers are declared. */
function faultOf({ layers }: AnyFeed, isDeclared: (layer: string) => boolean): string | null {
  const missing = layers.filter((name) => !isDeclared(name));
  if (missing.length === 0) return null;
  const [names, are, them] = missing.length === 1 ? ['Layer', 'is', 'it'] : ['Layers', 'are', 'them'];
  return `${names} ${missing.join(', ')} ${are} not declared. Declare ${them} again, or take ${them} out of the layers of this feed.`;
}
