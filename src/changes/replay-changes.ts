import { polygonOfBounds } from '../domain/bounds.ts';
import type { ChangeApplier } from './apply-changes.ts';
import type { Change } from './change.ts';
import type { ChangeFeedSettings } from './change-options.ts';
import { DEGREES } from './check-place.ts';
import type { FeedStore, RecordedChange } from './feed-store.ts';
import { mergeChanges } from './merge-places.ts';

/**
 * Applies the feed's changes of the last hour again, by their recorded boxes. In force when it resolves; returns their
 * number.
 */
export async function replayChanges(
  feed: ChangeFeedSettings,
  store: Pick<FeedStore, 'eachRecent'>,
  apply: ChangeApplier['apply'],
): Promise<number> {
  let changes: readonly Change[] = [];
  let count = 0;
  for await (const some of store.eachRecent(feed.name)) {
    count += some.reduce((sum, { merged }) => sum + merged, 0);
    // Merged slice by slice: an hour may have very many.
    changes = await mergeChanges([...changes, ...some.map(changeOf)]);
  }
  if (changes.length > 0) await apply(feed, changes);
  return count;
}

function changeOf({ layers, boxes }: Pick<RecordedChange, 'layers' | 'boxes'>): Change {
  const polygons = boxes?.map(([minX = 0, minY = 0, maxX = 0, maxY = 0]) =>
    polygonOfBounds({ minX, minY, maxX, maxY }),
  );
  return { layers, place: polygons ? { srs: DEGREES, polygons } : null };
}
