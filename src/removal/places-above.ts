/** Places in a layer: where something has changed on earth, or in the tiles of a layer that it is drawn from. */
import type { TileRecord } from '../catalog/incarnations.ts';
import type { PixelBuffer } from '../domain/area-cover.ts';
import { type Polygon, polygonOfBounds } from '../domain/bounds.ts';
import { boundsOfRect, levelOf } from '../domain/grid-set.ts';
import { everySubset, findGridSubset, type Layer } from '../domain/layer.ts';
import { type ChangedPlace, polygonsIn } from '../domain/place-in-grid-set.ts';
import { blockAt, intersectRects, rectsIn } from '../domain/tile-rect.ts';
import { createPace } from '../lib/yielding.ts';
import type { TilePlace } from '../storage/store.ts';
import { formerGridSets, placesToMark } from './mark-places.ts';
import type { TileSelection } from './tile-selection.ts';

export interface ChangedTiles {
  readonly selections: readonly TileSelection[];
  /** Null: the whole layer. */
  readonly places: readonly TilePlace[] | null;
}

/** A layer that is drawn from another one shows its pixels larger, or moved by a few. */
const PIXELS_BELOW = 4;
/** Each takes some microseconds in each grid set. */
const POINTS_PER_TURN = 100;

/** `below`: the layer that has changed in `places`; null: it is not declared. */
export async function placesAbove(
  upper: Layer,
  record: TileRecord | null,
  below: Layer | null,
  places: readonly TilePlace[] | null,
): Promise<ChangedTiles> {
  const changed = below && places && placesOnEarth(below, places);
  return changedTiles(upper, record, changed, {}, below ? bufferAbove(below) : { pixels: 0 });
}

/** `places`: null: everywhere. */
export async function changedTiles(
  layer: Layer,
  record: TileRecord | null,
  places: readonly ChangedPlace[] | null,
  zooms: Pick<TileSelection, 'zoomStart' | 'zoomStop'>,
  buffer: PixelBuffer,
): Promise<ChangedTiles> {
  const selections: TileSelection[] = [];
  for await (const selection of selectionsAt(layer, places, zooms, buffer)) selections.push(selection);
  if (selections.length === 0) return { selections, places: [] };
  const former = { ...zooms, gridSets: formerGridSets(layer, record) };
  return { selections, places: await placesToMark(layer, [...selections, former]) };
}

/** In turns of the event loop: all polygons of all places and grid sets together take long. */
async function* selectionsAt(
  layer: Layer,
  places: readonly ChangedPlace[] | null,
  zooms: Pick<TileSelection, 'zoomStart' | 'zoomStop'>,
  { pixels, metresPerPixel = 0 }: PixelBuffer,
): AsyncGenerator<TileSelection> {
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
function bufferAbove(below: Layer): PixelBuffer {
  const finest = everySubset(below).map(({ gridSet, zoomStop }) => {
    const level = findGridSubset(below, gridSet.name)?.gridSet.levels[zoomStop];
    return (level?.resolution ?? 0) * gridSet.metersPerUnit * gridSet.pixelRatio;
  });
  return { pixels: PIXELS_BELOW, metresPerPixel: Math.max(0, ...finest) };
}

/**
 * The areas of the places, from the deepest zoom that the layer offers, which is the most exact. Grid sets that it no
 * longer has are skipped; null if there are no others: the change may be anywhere.
 */
function placesOnEarth(layer: Layer, places: readonly TilePlace[]): readonly ChangedPlace[] | null {
  const changed: ChangedPlace[] = [];
  for (const name of new Set(places.map(({ gridSet }) => gridSet))) {
    const subset = findGridSubset(layer, name);
    if (!subset) continue;
    const { gridSet, zoomStop } = subset;
    const zooms = places.flatMap((place) => (place.gridSet === name ? [place.z] : []));
    const offered = zooms.filter((z) => z <= zoomStop);
    const deepest = offered.length > 0 ? Math.max(...offered) : Math.min(...zooms);
    if (deepest >= gridSet.levels.length) continue;
    const { columns, rows } = levelOf(gridSet, deepest);
    const polygons = places
      .filter((place) => place.gridSet === name && place.z === deepest)
      .flatMap(({ rect, parts }) => (parts ? [...rectsIn(parts)] : [rect]))
      .flatMap((part) => intersectRects(part, blockAt(0, 0, columns, rows)) ?? [])
      .map((part) => polygonOfBounds(boundsOfRect(gridSet, deepest, part)));
    changed.push({ srs: gridSet.srs, polygons });
  }
  return changed.length > 0 ? changed : null;
}
