import { boundsOfPoints, coordsOf } from '../domain/bounds.ts';
import type { ChangedPlace } from '../domain/place-in-grid-set.ts';
import { projectionOfSrs } from '../domain/projection.ts';
import type { Env } from '../lib/env.ts';
import type { AppliedFeed, ChangeApplier } from './apply-changes.ts';
import type { Change, FeedState } from './change-options.ts';
import type { Notifier } from './deliveries/notifier.ts';
import type { FeedRecord, FeedStore, RecordedChange } from './feed-store.ts';
import { mergeChanges, mergePlaces } from './merge-places.ts';

export type AuditChange = (entry: {
  readonly feed: string;
  readonly source: string | null;
  readonly summary: string;
  readonly after: object;
}) => Promise<void>;

export interface FeedIntakeOptions extends Env {
  readonly store: FeedStore;
  readonly apply: ChangeApplier['apply'];
  readonly audit: AuditChange;
  readonly notifier: Pick<Notifier, 'changeFeed'>;
}

/** `received` may count unusable changes too; otherwise it is the number of `changes`. */
interface Batch extends Partial<Omit<FeedRecord, 'changes'>> {
  readonly changes: readonly Change[];
  /** Network address of the sender. */
  readonly source?: string | null;
  /** Records of the single changes, instead of one for the whole batch. */
  readonly recorded?: readonly RecordedChange[];
}

const MAX_ERROR = 500;

export type FeedIntake = ReturnType<typeof createFeedIntake>;

/** The state of a feed, as it is shown. */
export function createFeedState(
  name: string,
  { store, notifier, log }: Pick<FeedIntakeOptions, 'store' | 'notifier' | 'log'>,
) {
  /** The former state is the recorded one: another node, or this one before a start, may have shown it. */
  async function show(state: FeedState, error: string | null): Promise<void> {
    const before = await store.state(name);
    const former = state === 'ok' && before.state === 'ok' ? before.error : null;
    const message = error?.slice(0, MAX_ERROR) ?? former;
    if (before.state === state && before.error === message) return;
    await store.set(name, { state, last_error: message });
    if (before.state === state) return;
    notifier.changeFeed(name, state === 'ok' ? null : message);
    if (state === 'ok') log.info({ feed: name }, 'the change feed works again');
    else log.warn({ feed: name, reason: message }, 'the change feed is failing');
  }

  return {
    /** `fault`: of the latest change that could not be used; the former one stays when null. */
    works: (fault: string | null = null): Promise<void> => show('ok', fault),
    fails: (message: string): Promise<void> => show('failing', message),
  };
}

/** The steps of every feed between reading changes and acknowledging them, and its state. */
export function createFeedIntake(feed: AppliedFeed, options: FeedIntakeOptions) {
  const { store, apply, audit } = options;
  const { name } = feed;
  let pending: number | null = null;

  return {
    ...createFeedState(name, options),
    /** In force, logged and counted when it resolves; the caller acknowledges it then. Returns the ids. */
    async accept({ changes, source = null, recorded, ...record }: Batch): Promise<readonly number[]> {
      const few = await mergeChanges(changes);
      await apply(feed, few);
      const summed = { ...(await summaryOf(feed.layers, few)), merged: changes.length };
      if (changes.length > 0) {
        const summary = `${feed.action} for ${changes.length} ${changes.length === 1 ? 'change' : 'changes'}`;
        await audit({ feed: name, source, summary, after: summed });
      }
      return store.record(name, {
        received: changes.length,
        applied: changes.length,
        changes: recorded ?? (changes.length > 0 ? [summed] : []),
        ...record,
      });
    },

    async waiting(count: number): Promise<void> {
      if (count === pending) return;
      await store.set(name, { pending: count });
      pending = count;
    },
  };
}

/** Boxes around areas that are far from each other. */
async function boxesOf(places: readonly ChangedPlace[]): Promise<RecordedChange['boxes']> {
  return (await mergePlaces(places)).flatMap(({ srs, polygons }) => {
    const box = polygons.length > 0 && projectionOfSrs(srs)?.boundsToWgs84(boundsOfPoints(polygons.flat(2)));
    return box ? [coordsOf(box)] : [];
  });
}

export async function summaryOf(all: readonly string[], changes: readonly Change[]): Promise<RecordedChange> {
  const named = changes.some(({ layers }) => layers === null)
    ? all
    : [...new Set(changes.flatMap(({ layers }) => layers ?? []))];
  const isWhole = changes.some(({ place }) => place === null);
  const boxes = isWhole ? null : await boxesOf(changes.flatMap(({ place }) => place ?? []));
  return { eventId: null, merged: changes.length, layers: named, boxes };
}
