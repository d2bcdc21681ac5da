import type { Bounds } from '../../../domain/bounds.ts';
import { builtInGridSets } from '../../../domain/built-in-grid-sets.ts';
import type { GridLevel, GridSet } from '../../../domain/grid-set.ts';
import { sameSrs } from '../../../domain/srs.ts';
import { remembered } from '../../../lib/get-or-create.ts';

/** Name and axis order of a grid set's coordinates in WMTS documents. */
export interface GridSetCrs {
  readonly urn: string;
  readonly yFirst: boolean;
  /** Null unless the scales agree level by level, as far as both go. */
  readonly wellKnownScaleSet: string | null;
}

export type CrsNames = (gridSet: GridSet) => GridSetCrs;

const WEB_MERCATOR = 3857;
const DEGREES = 4326;
const CRS84 = 'urn:ogc:def:crs:OGC:1.3:CRS84';
/** OGC 07-057r7, 6.1: side of a pixel, in metres, in every scale denominator of a WMTS. */
const PIXEL_SIZE = 0.00028;
/** GoogleMapsCompatible ends here, OGC 07-057r7, table E.4. */
const GOOGLE_LEVELS = 19;
/** A share. EPSG:900913 with its rounded extent is off by 1.4e-10. */
const SAME_SCALE = 1e-12;

export function createCrsNames(): CrsNames {
  const scaleSets = wellKnownScaleSets();
  return remembered((gridSet) => nameCrs(gridSet, scaleSets));
}

/** Grid sets may define another pixel size; WMTS documents may not. */
export function ogcScale({ metersPerUnit, pixelSize }: GridSet, level: GridLevel): number {
  return pixelSize === PIXEL_SIZE ? level.scaleDenominator : (level.resolution * metersPerUnit) / PIXEL_SIZE;
}

/** `x y` or `y x`, by the CRS. */
export function position({ yFirst }: GridSetCrs, x: number, y: number): string {
  return yFirst ? `${y} ${x}` : `${x} ${y}`;
}

export function corners(crs: GridSetCrs, { minX, minY, maxX, maxY }: Bounds): readonly [string, string] {
  return [position(crs, minX, minY), position(crs, maxX, maxY)];
}

type ScaleSet = ReturnType<typeof wellKnownScaleSets>[number];

function wellKnownScaleSets() {
  const builtIn = new Map(builtInGridSets().map((gridSet) => [gridSet.name, gridSet]));
  const scaleSet = (name: string, srs: number, from = name, levels?: number) => ({
    urn: `urn:ogc:def:wkss:OGC:1.0:${name}`,
    srs,
    scales: (builtIn.get(from)?.levels ?? []).slice(0, levels).map((level) => level.scaleDenominator),
  });
  return [
    scaleSet('GoogleMapsCompatible', WEB_MERCATOR, 'WebMercatorQuad', GOOGLE_LEVELS),
    scaleSet('GlobalCRS84Pixel', DEGREES),
    scaleSet('GlobalCRS84Scale', DEGREES),
    scaleSet('GoogleCRS84Quad', DEGREES),
  ];
}

function nameCrs(gridSet: GridSet, scaleSets: readonly ScaleSet[]): GridSetCrs {
  const { srs, yCoordinateFirst } = gridSet;
  const scaleSet = scaleSets.find((candidate) => hasScalesOf(gridSet, candidate));
  const wellKnownScaleSet = scaleSet?.urn ?? null;
  // OGC 07-057r7, annex E: these are defined in CRS84, which is EPSG:4326 with longitude first.
  if (scaleSet?.srs === DEGREES) return { urn: CRS84, yFirst: false, wellKnownScaleSet };
  // EPSG:4326 has latitude first; with longitude first it is CRS84.
  if (srs === DEGREES && !yCoordinateFirst) return { urn: CRS84, yFirst: false, wellKnownScaleSet };
  // 900913 and its variants are not EPSG codes; clients may not know them.
  const code = sameSrs(srs, WEB_MERCATOR) ? WEB_MERCATOR : srs;
  return { urn: `urn:ogc:def:crs:EPSG::${code}`, yFirst: yCoordinateFirst, wellKnownScaleSet };
}

/** OGC 07-057r7, annex E: the same scales from the largest denominator on; either list may end earlier. */
function hasScalesOf(gridSet: GridSet, { srs, scales }: ScaleSet): boolean {
  return (
    sameSrs(gridSet.srs, srs) &&
    gridSet.levels.every((level, z) => {
      const scale = scales[z];
      return scale === undefined || Math.abs(ogcScale(gridSet, level) / scale - 1) < SAME_SCALE;
    })
  );
}
