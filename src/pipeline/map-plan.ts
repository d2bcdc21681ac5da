import type { Bounds, MapPicture } from '../domain/bounds.ts';
import { invalid } from '../domain/errors.ts';
import { isWithinScales, levelOf, METERS_PER_DEGREE, tilesOfBounds } from '../domain/grid-set.ts';
import { coverageAt, type GridSubset } from '../domain/grid-subset.ts';
import { type Crs, createPlaceMapping, surveyPicture } from '../domain/pixel-mesh.ts';
import { levelFor } from '../domain/pixel-sampler.ts';
import { definitionOf } from '../domain/projection.ts';
import { countTiles, intersectRects, type TileRect } from '../domain/tile-rect.ts';
import type { MapAxis, MapLayer } from '../raster/draw-map.ts';
import type { ResampleAxis } from '../raster/resample-image.ts';
import type { WarpedLayer } from '../raster/warp-layer.ts';

interface MapPlan {
  readonly z: number;
  readonly layer: MapLayer;
}

/** Limit of source pixels for a layer of a map: four times the pixels of the largest map. */
const MAX_SOURCE_PIXELS = 64 * 1024 * 1024;
/** Limit of source pixels along a side. Bounds memory, because a row of tiles is held at a time. */
const MAX_SOURCE_SIDE = 20 * 1024;
/** Tiles are enlarged by up to this factor before those of the next zoom are used: its labels are half as large. */
const MIN_ENLARGED = 1.15;
/** Source pixels over the whole axis that bounds with rounded numbers may be off: invisible, so they are snapped. */
const UNNOTICED = 0.05;

/** Limit of source pixels for all layers of a map together. Bounds the decoding. */
const MAX_MAP_SOURCE_PIXELS = 2 * MAX_SOURCE_PIXELS;

/**
 * Plans a layer of a map that has `layers` of them: its zoom and tiles. Null if the layer has no tiles there or is not
 * shown at that scale. Throws `request-invalid` if it would take too many tiles.
 */
export function planMap(subset: GridSubset, place: MapPicture, layers = 1): MapPlan | null {
  const { scales, gridSet } = subset;
  const scale = (finestResolution(place) * gridSet.metersPerUnit) / gridSet.pixelSize;
  if (scales && !isWithinScales(scales, scale)) return null;
  return planMapAt(subset, place, zoomFor(subset, place, sourcePixelsOf(layers)));
}

/** Limit of source pixels for each of so many layers. */
export function sourcePixelsOf(layers: number): number {
  return Math.min(MAX_SOURCE_PIXELS, MAX_MAP_SOURCE_PIXELS / layers);
}

/** As `planMap`, from tiles of this zoom, at any scale and size. */
export function planMapAt(
  subset: GridSubset,
  { bounds, width, height }: MapPicture,
  z: number,
): MapPlan | null {
  const rect = tilesAt(subset, z, bounds);
  if (!rect) return null;
  const { gridSet } = subset;
  const { resolution, top, tileSpanX, tileSpanY } = levelOf(gridSet, z);
  const left = gridSet.extent.minX + rect.minX * tileSpanX;
  const across = coveredAxis({
    length: width,
    origin: (bounds.minX - left) / resolution,
    scale: (bounds.maxX - bounds.minX) / width / resolution,
    available: sourceSize(subset, rect).width,
  });
  const down = coveredAxis({
    length: height,
    origin: (top - rect.minY * tileSpanY - bounds.maxY) / resolution,
    scale: (bounds.maxY - bounds.minY) / height / resolution,
    available: sourceSize(subset, rect).height,
  });
  const { tileWidth, tileHeight } = gridSet;
  return across && down && { z, layer: { across, down, width: tileWidth, height: tileHeight, rect } };
}

/** The map's pixels whose centre is on a tile; null if there are none. */
function coveredAxis(axis: ResampleAxis & { readonly available: number }): MapAxis | null {
  const { origin, scale } = snapped(axis);
  const first = Math.max(0, Math.ceil(-origin / scale - 0.5));
  const end = Math.min(axis.length, Math.floor((axis.available - origin) / scale - 0.5) + 1);
  return first < end ? { first, length: end - first, origin: origin + first * scale, scale } : null;
}

function snapped({ length, origin, scale }: ResampleAxis): Pick<ResampleAxis, 'origin' | 'scale'> {
  if (Math.abs(scale - 1) * length > UNNOTICED) return { origin, scale };
  const whole = Math.round(origin);
  return { origin: Math.abs(origin - whole) <= UNNOTICED ? whole : origin, scale: 1 };
}

/** The coarsest zoom that is fine enough, or a coarser one if that one would take too many tiles. */
function zoomFor(subset: GridSubset, place: MapPicture, maxPixels: number): number {
  const { shownStart: zoomStart, shownStop: zoomStop, gridSet } = subset;
  const { bounds } = place;
  const finest = finestResolution(place);
  let z = zoomStart;
  while (z < zoomStop && levelOf(gridSet, z).resolution > finest * MIN_ENLARGED) z++;
  while (z > zoomStart && !isWithinBounds(subset, tilesAt(subset, z, bounds), maxPixels)) z--;
  const rect = tilesAt(subset, z, bounds);
  if (!rect || isWithinBounds(subset, rect, maxPixels)) return z;
  throw invalid(
    `This map would be made of ${countTiles(rect)} tiles; that is too many. Request a smaller area, or another zoom.`,
  );
}

function finestResolution({ bounds, width, height }: MapPicture): number {
  return Math.min((bounds.maxX - bounds.minX) / width, (bounds.maxY - bounds.minY) / height);
}

function isWithinBounds(subset: GridSubset, rect: TileRect | null, maxPixels: number): boolean {
  if (!rect) return true;
  const { width, height } = sourceSize(subset, rect);
  return width * height <= maxPixels && Math.max(width, height) <= MAX_SOURCE_SIDE;
}

/** Size of a block of tiles in pixels. */
function sourceSize({ gridSet }: GridSubset, { minX, minY, maxX, maxY }: TileRect) {
  return { width: (maxX - minX + 1) * gridSet.tileWidth, height: (maxY - minY + 1) * gridSet.tileHeight };
}

function tilesAt(subset: GridSubset, z: number, bounds: Bounds): TileRect | null {
  const rect = tilesOfBounds(subset.gridSet, z, bounds);
  const offered = coverageAt(subset, z);
  return rect && offered && intersectRects(rect, offered);
}

/** Covered shares of a picture that differ by less count as equal. */
const SAME_SHARE = 0.02;
/** Metres of a screen pixel, by OGC's convention. */
const PIXEL_SIZE = 0.00028;

/**
 * As `planMap`, for a map in another CRS than that of the tiles, from tiles of about `maxPixels` at most. Null if the
 * layer has no tiles there or is not shown at that scale.
 */
export function planWarp(
  subset: GridSubset,
  { bounds, width, height }: MapPicture,
  crs: Crs,
  maxPixels: number,
): { readonly z: number; readonly layer: WarpedLayer } | null {
  const picture = { bounds, width, height };
  const { scales, gridSet, shownStart, shownStop } = subset;
  if (scales && !isWithinScales(scales, scaleOf(picture, crs))) return null;
  const survey = surveyOf(subset, picture, crs);
  if (!survey) return null;
  let z = levelFor(subset, survey.unitsPerPixel * MIN_ENLARGED, [shownStart, shownStop]);
  while (z > shownStart && survey.area / levelOf(gridSet, z).resolution ** 2 > maxPixels) z--;
  const { tileWidth, tileHeight } = gridSet;
  return { z, layer: { crs, bounds, subset, z, width: tileWidth, height: tileHeight } };
}

/** The grid set that covers most of a picture; of several, the one whose resolution fits best. */
export function subsetToWarp(
  [first, ...others]: readonly [GridSubset, ...GridSubset[]],
  picture: MapPicture,
  crs: Crs,
): GridSubset {
  const rated = [first, ...others].flatMap((subset) => {
    const survey = surveyOf(subset, picture, crs);
    if (!survey) return [];
    const wanted = survey.unitsPerPixel;
    const z = levelFor(subset, wanted * MIN_ENLARGED, [subset.shownStart, subset.shownStop]);
    const { resolution } = levelOf(subset.gridSet, z);
    return { subset, inside: survey.inside, misfit: Math.abs(Math.log(resolution / wanted)) };
  });
  const most = Math.max(...rated.map(({ inside }) => inside));
  const [best] = rated
    .filter(({ inside }) => inside >= most - SAME_SHARE)
    .sort((a, b) => a.misfit - b.misfit);
  return best?.subset ?? first;
}

function surveyOf({ gridSet, extent }: GridSubset, picture: MapPicture, crs: Crs) {
  const mapping = createPlaceMapping(crs, gridSet);
  return mapping && surveyPicture(picture, mapping, extent);
}

/** The scale denominator of a picture, as grid sets compute theirs. */
function scaleOf(picture: MapPicture, crs: Crs): number {
  const isGeographic = definitionOf(crs)?.startsWith('+proj=longlat') ?? false;
  return (finestResolution(picture) * (isGeographic ? METERS_PER_DEGREE : 1)) / PIXEL_SIZE;
}
