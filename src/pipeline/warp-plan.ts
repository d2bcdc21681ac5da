import type { MapPicture } from '../domain/bounds.ts';
import { levelOf, METERS_PER_DEGREE } from '../domain/grid-set.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import { type Crs, createPlaceMapping, surveyPicture } from '../domain/pixel-mesh.ts';
import { levelFor } from '../domain/pixel-sampler.ts';
import { definitionOf } from '../domain/projection.ts';
import { isWithinScales } from '../domain/scales.ts';
import type { WarpedLayer } from '../raster/warp-layer.ts';
import { finestResolution, MIN_ENLARGED } from './map-plan.ts';

interface WarpPlan {
  readonly z: number;
  readonly layer: WarpedLayer;
}

/** Shares of a picture that differ by less are the same. */
const SAME_SHARE = 0.02;
/** Metres that a pixel is taken to measure on a screen. */
const PIXEL_SIZE = 0.00028;

/**
 * A layer of a map in another CRS than that of its tiles, which take at most so many pixels. Null when the layer has
 * nothing there, or not at the scale of the map.
 */
export function planWarp(
  subset: GridSubset,
  { bounds, width, height }: MapPicture,
  crs: Crs,
  maxPixels: number,
): WarpPlan | null {
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

/** The grid set that shows most of a picture; of several, the one whose resolution fits best. */
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

/** Metres in a unit of the CRS, as grid sets have them. */
function scaleOf(picture: MapPicture, crs: Crs): number {
  const isGeographic = definitionOf(crs)?.startsWith('+proj=longlat') ?? false;
  return (finestResolution(picture) * (isGeographic ? METERS_PER_DEGREE : 1)) / PIXEL_SIZE;
}
