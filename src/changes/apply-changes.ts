/** Applies changes to tiles. No other file of this room touches tiles. */
import type { Catalog } from '../catalog/catalog.ts';
import { polygonOfBounds } from '../domain/bounds.ts';
import { isTilewardenError } from '../domain/errors.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { changedTiles } from '../removal/places-above.ts';
import type { Removal } from '../removal/removal.ts';
import type { Removals } from '../removal/removals.ts';
import type { TileSelection } from '../removal/tile-selection.ts';
import type { SelectionWork } from '../tasks/selection-work.ts';
import type { Change, ChangeFeedSettings, ChangeRules } from './change-options.ts';
import { DEGREES } from './check-place.ts';
import type { FeedStore, RecordedChange } from './feed-store.ts';
import { mergeChanges, mergePlaces } from './merge-places.ts';

interface ApplierOptions {
  readonly catalog: Pick<Catalog, 'layer' | 'record'>;
  readonly removals: Pick<Removals, 'remove'>;
  readonly renew: SelectionWork['renew'];
}

export interface AppliedFeed extends ChangeRules {
  readonly name: string;
  readonly layers: readonly string[];
}

/** The removal in a layer, and the tiles to renew if the feed renews them. */
interface LayerChange {
  readonly removal: Removal;
  readonly selections: readonly TileSelection[];
}

export type ChangeApplier = ReturnType<typeof createChangeApplier>;

export function createChangeApplier({ catalog, removals, renew }: ApplierOptions) {
  /** Null: no tile of the layer is concerned. */
  async function changeOfLayer(
    name: string,
    feed: AppliedFeed,
    changes: readonly Change[],
  ): Promise<LayerChange | null> {
    const concerned = changes.filter(({ layers }) => layers === null || layers.includes(name));
    if (concerned.length === 0) return null;
    const type = feed.action === 'truncate' ? 'hide' : 'outdate';
    const layer = catalog.layer(name)?.layer;
    // If it is declared again, it starts without tiles.
    if (!layer) return { removal: { layer: name, places: null, type }, selections: [] };
    const isWhole = concerned.some(({ place }) => place === null);
    const where = isWhole ? null : await mergePlaces(concerned.flatMap(({ place }) => place ?? []));
    const zooms = omitUndefined({ zoomStart: feed.zoomStart, zoomStop: feed.zoomStop });
    const buffer = { pixels: feed.buffer };
    const { selections, places } = await changedTiles(layer, catalog.record(name), where, zooms, buffer);
    return places?.length === 0 ? null : { removal: { layer: name, places, type }, selections };
  }

  async function renewAll({ name }: AppliedFeed, { removal, selections }: LayerChange): Promise<void> {
    const author = { name: `feed:${name}`, account: 'feed', unlimited: false };
    for (const selection of selections) {
      await renew(removal.layer, selection, author).catch((error: unknown) => {
        // With too many tasks, tiles are renewed when they are requested.
        if (!isTilewardenError(error, 'too-many-tasks')) throw error;
      });
    }
  }

  return {
    /** Applies the changes together. When it resolves they are durable and obeyed by all; a repeat is harmless. */
    async apply(feed: AppliedFeed, changes: readonly Change[]): Promise<void> {
      const ofLayers: LayerChange[] = [];
      for (const name of feed.layers) {
        const change = await changeOfLayer(name, feed, changes);
        if (change) ofLayers.push(change);
      }
      const above = await removals.remove(ofLayers.map(({ removal }) => removal));
      if (feed.action !== 'renew') return;
      for (const change of [...ofLayers, ...above]) await renewAll(feed, change);
    },
  };
}

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
  for await (const slice of store.eachRecent(feed.name)) {
    count += slice.reduce((sum, { merged }) => sum + merged, 0);
    // Merged slice by slice: an hour may have very many.
    changes = await mergeChanges([...changes, ...slice.map(recordedChange)]);
  }
  if (changes.length > 0) await apply(feed, changes);
  return count;
}

function recordedChange({ layers, boxes }: Pick<RecordedChange, 'layers' | 'boxes'>): Change {
  const polygons = boxes?.map(([minX = 0, minY = 0, maxX = 0, maxY = 0]) =>
    polygonOfBounds({ minX, minY, maxX, maxY }),
  );
  return { layers, place: polygons ? { srs: DEGREES, polygons } : null };
}
