import { polygonOfBounds } from '../domain/blank-area.ts';
import type { ChangeApplier } from './apply-changes.ts';
import type { Change, ChangedPlace } from './change.ts';
import type { ChangeFeedSettings } from './change-options.ts';
import { DEGREES } from './check-place.ts';
import type { FeedStore, RecordedChange } from './feed-store.ts';
import { mergePlaces } from './merge-places.ts';

/** Null: the whole layers. */
type Places = readonly ChangedPlace[] | null;

/**
 * Marks again what a feed has reported in the last hour, by the boxes that are recorded. In force when it resolves;
 * returns how many changes that were.
 */
export async function replayChanges(
  feed: ChangeFeedSettings,
  store: Pick<FeedStore, 'eachRecent'>,
  apply: ChangeApplier['apply'],
): Promise<number> {
  const byLayers = new Map<string, Places>();
  let count = 0;
  for await (const some of store.eachRecent(feed.name)) {
    const fresh = new Map<string, ChangedPlace[] | null>();
    for (const change of some) {
      count += change.merged;
      const key = JSON.stringify(change.layers);
      const known = fresh.get(key);
      fresh.set(
        key,
        known === null || change.boxes === null ? null : [...(known ?? []), placeOf(change.boxes)],
      );
    }
    // Merged slice by slice: an hour may have very many.
    for (const [key, places] of fresh) byLayers.set(key, await mergedWith(byLayers.get(key), places));
  }
  const changes = [...byLayers].flatMap(([key, places]): Change[] => {
    const layers = JSON.parse(key) as readonly string[];
    return places === null ? [{ layers, place: null }] : places.map((place) => ({ layers, place }));
  });
  if (changes.length > 0) await apply(feed, changes);
  return count;
}

async function mergedWith(known: Places | undefined, added: Places): Promise<Places> {
  if (known === null || added === null) return null;
  return mergePlaces([...(known ?? []), ...added]);
}

function placeOf(boxes: NonNullable<RecordedChange['boxes']>): ChangedPlace {
  const polygons = boxes.map(([minX = 0, minY = 0, maxX = 0, maxY = 0]) =>
    polygonOfBounds({ minX, minY, maxX, maxY }),
  );
  return { srs: DEGREES, polygons };
}
