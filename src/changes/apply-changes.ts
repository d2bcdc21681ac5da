/** Applies changes to tiles. No other file of this room touches tiles. */
import type { Catalog } from '../catalog/catalog.ts';
import { layerBelow } from '../catalog/incarnations.ts';
import type { Polygon } from '../domain/bounds.ts';
import { isTilewardenError } from '../domain/errors.ts';
import { everySubset, findGridSubset, type Layer } from '../domain/layer.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { createPace } from '../lib/yielding.ts';
import type { PixelBuffer } from '../tasks/area-cover.ts';
import type { Marks } from '../tasks/marks.ts';
import type { SelectionWork } from '../tasks/selection-work.ts';
import type { TaskAuthor } from '../tasks/task-author.ts';
import type { TileSelection } from '../tasks/tile-selection.ts';
import type { Change, ChangedPlace, ChangeRules } from './change.ts';
import { mergePlaces } from './merge-places.ts';
import { polygonsIn } from './place-in-grid-set.ts';

interface ApplierOptions {
  readonly catalog: Pick<Catalog, 'layer' | 'layerNames' | 'version'> & {
    declaration(name: string): { readonly source: unknown } | null;
  };
  readonly marks: Pick<Marks, 'markAll'>;
  readonly renew: SelectionWork['renew'];
  /** The layer is not declared: if it comes back, it has none of the tiles of before. */
  readonly retire: (layer: string) => Promise<void>;
}

interface AppliedFeed extends ChangeRules {
  readonly name: string;
  readonly layers: readonly string[];
}

/** A layer that is drawn from another one shows its pixels larger, or moved by a few. */
const PIXELS_BELOW = 4;
/** Each takes some microseconds in each grid set. */
const POINTS_PER_TURN = 100;

export type ChangeApplier = ReturnType<typeof createChangeApplier>;

export function createChangeApplier({ catalog, marks, renew: renewTiles, retire }: ApplierOptions) {
  let known: { readonly version: number; readonly above: ReadonlyMap<string, readonly string[]> } | null =
    null;

  /** Layers that are drawn from each layer. */
  function layersAbove(): ReadonlyMap<string, readonly string[]> {
    const { version } = catalog;
    if (known?.version === version) return known.above;
    const above = new Map<string, string[]>();
    for (const name of catalog.layerNames()) {
      const below = layerBelow(catalog.declaration(name)?.source);
      if (below) getOrCreate(above, below.layer, () => []).push(name);
    }
    known = { version, above };
    return above;
  }

  async function renew({ layer, selections, rules }: LayerChange): Promise<void> {
    if (rules.action !== 'renew') return;
    for (const selection of selections) {
      await renewTiles(layer.name, selection, feedAuthor(rules.name)).catch((error: unknown) => {
        // Without room for tasks tiles are renewed when they are requested.
        if (!isTilewardenError(error, 'too-many-tasks')) throw error;
      });
    }
  }

  async function* changesAbove(changes: readonly LayerChange[]): AsyncGenerator<LayerChange> {
    for (const { layer, places, rules, buffer, seen } of changes) {
      const { zoomStart: _, zoomStop: __, ...all } = rules;
      const wider = bufferAbove(layer, buffer);
      for (const name of layersAbove().get(layer.name) ?? []) {
        const upper = seen.has(name) ? null : catalog.layer(name);
        if (upper) yield layerChange(upper.layer, places, all, wider, new Set([...seen, name]));
      }
    }
  }

  /** Layers come before those drawn from them, so that the latter are drawn from new tiles. */
  async function applyAll(changes: readonly LayerChange[]): Promise<void> {
    const marked = changes.filter(({ selections }) => selections.length > 0);
    await marks.markAll(
      marked.map(({ layer, selections, rules }) => ({
        layer: layer.name,
        selections,
        type: rules.action === 'truncate' ? 'hide' : 'outdate',
      })),
    );
    for (const change of marked) await renew(change);
    await applyTo(changesAbove(changes));
  }

  async function applyTo(found: AsyncIterable<LayerChange>): Promise<void> {
    const changes: LayerChange[] = [];
    for await (const change of found) changes.push(change);
    if (changes.length > 0) await applyAll(changes);
  }

  /** All of them together. In force, for every reader and durably, when this resolves; a repeat does no harm. */
  async function apply(feed: AppliedFeed, changes: readonly Change[]): Promise<void> {
    const ofLayers: LayerChange[] = [];
    for (const name of feed.layers) {
      const bound = catalog.layer(name);
      const concerned = changes.filter(({ layers }) => layers === null || layers.includes(name));
      if (concerned.length === 0) continue;
      if (!bound) {
        await retire(name);
        continue;
      }
      const isWhole = concerned.some(({ place }) => place === null);
      const places = isWhole ? null : await mergePlaces(concerned.flatMap(({ place }) => place ?? []));
      ofLayers.push(await layerChange(bound.layer, places, feed, { pixels: feed.buffer }, new Set([name])));
    }
    await applyAll(ofLayers);
  }

  return {
    apply,
    hasAbove: (layer: string): boolean => layersAbove().has(layer),
    /** In the layers that are drawn from this one, as `apply` does. */
    async applyAbove(
      layer: Layer,
      places: readonly ChangedPlace[] | null,
      action: 'truncate' | 'invalidate',
    ): Promise<void> {
      const merged = places && (await mergePlaces(places));
      const rules = { name: '', layers: [], action, buffer: 0 };
      const below = await layerChange(layer, merged, rules, { pixels: 0 }, new Set([layer.name]));
      await applyTo(changesAbove([below]));
    },
  };
}

interface LayerChange {
  readonly layer: Layer;
  /** Null: everywhere. */
  readonly places: readonly ChangedPlace[] | null;
  readonly selections: readonly TileSelection[];
  readonly rules: AppliedFeed;
  readonly buffer: PixelBuffer;
  /** The layer, and those that it is drawn from. */
  readonly seen: ReadonlySet<string>;
}

async function layerChange(
  layer: Layer,
  places: LayerChange['places'],
  rules: AppliedFeed,
  buffer: PixelBuffer,
  seen: ReadonlySet<string>,
): Promise<LayerChange> {
  const selections: TileSelection[] = [];
  for await (const selection of selectionsOf(layer, places, rules, buffer)) selections.push(selection);
  return { layer, places, selections, rules, buffer, seen };
}

function feedAuthor(feed: string): TaskAuthor {
  return { name: `feed:${feed}`, account: 'feed', unlimited: false };
}

/** In turns of the event loop: all polygons of all places and grid sets together take long. */
async function* selectionsOf(
  layer: Layer,
  places: readonly ChangedPlace[] | null,
  { zoomStart, zoomStop }: ChangeRules,
  { pixels, metresPerPixel = 0 }: PixelBuffer,
): AsyncGenerator<TileSelection> {
  const zooms = {
    ...(zoomStart !== undefined && { zoomStart }),
    ...(zoomStop !== undefined && { zoomStop }),
  };
  if (places === null) yield zooms;
  const pace = createPace(POINTS_PER_TURN);
  for (const place of places ?? []) {
    const least = place.polygons.some(isThin) ? 1 : 0;
    for (const { gridSet, zoomStop: deepest } of layer.gridSubsets) {
      const { polygons, tolerance } = await polygonsIn(gridSet, deepest, place, pace);
      if (polygons.length === 0) continue;
      const buffer = {
        pixels: Math.max(least, tolerance === 0 ? pixels : pixels + 1),
        metresPerPixel: Math.max(metresPerPixel, tolerance),
      };
      yield { ...zooms, gridSets: [gridSet.name], area: { polygons, crs: 'grid-set' }, buffer };
    }
  }
}

/** Encloses nothing: only with a buffer does it touch a tile for certain. */
function isThin([ring = []]: Polygon): boolean {
  const [first] = ring;
  return (
    ring.every(([x]) => x === first?.[0]) || ring.every(([, y]) => y === first?.[1]) || isThereAndBack(ring)
  );
}

function isThereAndBack(ring: Polygon[number]): boolean {
  const last = ring.length - 1;
  return ring.every(([x, y], i) => x === ring[last - i]?.[0] && y === ring[last - i]?.[1]);
}

/** Beyond the deepest zoom of the layer below, its pixels are enlarged. */
function bufferAbove(below: Layer, { pixels, metresPerPixel = 0 }: PixelBuffer): PixelBuffer {
  const finest = everySubset(below).map(({ gridSet, zoomStop }) => {
    const level = findGridSubset(below, gridSet.name)?.gridSet.levels[zoomStop];
    return (level?.resolution ?? 0) * gridSet.metersPerUnit * gridSet.pixelRatio;
  });
  return { pixels: PIXELS_BELOW * Math.max(1, pixels), metresPerPixel: Math.max(metresPerPixel, ...finest) };
}
