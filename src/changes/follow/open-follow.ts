import type { Lead } from '../../db/database.ts';
import type { Env } from '../../lib/env.ts';
import type { ChangeApplier } from '../apply-changes.ts';
import type { Notifier } from '../deliveries/notifier.ts';
import { type AuditChange, createFeedIntake } from '../feed-intake.ts';
import { createFeedStore } from '../feed-store.ts';
import { follow as followFeed } from '../feeds/polled-feed.ts';
import type { FollowSettings, FollowStatus, PassReport } from './follow.ts';
import { createFollowStore } from './follow-store.ts';
import { type PassTools, runPass } from './run-pass.ts';

interface FollowOptions extends Env, Omit<PassTools, 'store' | 'markTiles' | 'audit' | 'clock'> {
  readonly follow: readonly FollowSettings[];
  readonly apply: ChangeApplier['apply'];
  readonly auditLayer: PassTools['audit'];
  readonly auditMark: AuditChange;
  readonly notifier: Pick<Notifier, 'changeFeed'>;
  readonly lead: Lead;
}

export type FollowService = Awaited<ReturnType<typeof openFollow>>;

/** Keeps layers in step with map servers. The leading node makes the passes; a pass on demand is made where it is requested. */
export async function openFollow(options: FollowOptions) {
  const { database, lead, clock } = options;
  const store = createFollowStore(database);
  const feeds = createFeedStore(database, clock);
  /** By name: passes of one process follow each other. */
  const running = new Map<string, Promise<unknown>>();

  const intakeOf = (name: string, layers: readonly string[]) => {
    const feed = { name: feedName(name), layers, action: 'invalidate', buffer: 0 } as const;
    return createFeedIntake(feed, { ...options, store: feeds, audit: options.auditMark });
  };

  const tools: PassTools = {
    ...options,
    store,
    audit: options.auditLayer,
    async markTiles({ name }, layers) {
      await intakeOf(name, layers).accept({ changes: [{ layers: null, place: null }] });
    },
  };

  function pass(follow: FollowSettings, how: { dryRun: boolean; signal: AbortSignal }): Promise<PassReport> {
    const before = running.get(follow.name) ?? Promise.resolve();
    const after = before.then(() => runPass(follow, how, tools));
    running.set(
      follow.name,
      after.catch(() => {}),
    );
    return after;
  }

  async function start(follow: FollowSettings) {
    await feeds.prepare(feedName(follow.name));
    const feed = {
      poll: async (signal: AbortSignal) => void (await pass(follow, { dryRun: false, signal })),
      rest: (signal: AbortSignal) => clock.sleep(follow.every * 1000, signal),
    };
    const feedTools = { ...options, store: feeds, intake: intakeOf(follow.name, []) };
    return lead((signal) => followFeed(feed, feedTools, signal));
  }

  const leading = await Promise.all(options.follow.map(start));

  return {
    async list(): Promise<readonly FollowStatus[]> {
      if (options.follow.length === 0) return [];
      const rows = new Map((await feeds.rows()).map((row) => [row.name, row]));
      const counts = await store.counts();
      return Promise.all(
        options.follow.map(async ({ name, type }): Promise<FollowStatus> => {
          const row = rows.get(feedName(name));
          const mark = await store.mark(name);
          return {
            name,
            type,
            state: row?.state === 'failing' ? 'failing' : 'ok',
            lastAt: mark?.lastAt ?? null,
            lastError: row?.state === 'failing' ? (row.last_error ?? null) : null,
            layers: counts.get(name) ?? 0,
            pending: mark?.pending ?? 0,
          };
        }),
      );
    },

    /** Null: there is no such follow. */
    async run(name: string, dryRun: boolean, signal: AbortSignal): Promise<PassReport | null> {
      const follow = options.follow.find((one) => one.name === name);
      return follow ? pass(follow, { dryRun, signal }) : null;
    },

    /** Passes with changes, newest first. */
    passes: store.passes,
    /** The follow that a layer belongs to; null: none. */
    followOf: async (layer: string) => (options.follow.length === 0 ? null : store.followOf(layer)),

    async close(): Promise<void> {
      await Promise.all([...leading.map((one) => one.close()), ...running.values()]);
    },
  };
}

/** Names of feeds have no colon. */
function feedName(name: string): string {
  return `follow:${name}`;
}
