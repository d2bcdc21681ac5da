import type { Bounds } from './bounds.ts';
import { type GridSet, type GridSetOptions, wellKnownGridSet } from './grid-set.ts';
import { createOgcGridSets, ladder, square } from './ogc-grid-sets.ts';

const WORLD_DEGREES: Bounds = { minX: -180, minY: -90, maxX: 180, maxY: 90 };
const GOOGLE_HALF_WORLD = 20037508.34;
/** 1 : this is the whole world in one tile of 256 pixels. */
const GOOGLE_CRS84_SCALE = 559082264.0287178;
const MINUTE = 1 / 60;
const SECOND = 1 / 3600;

/** Degrees a pixel, OGC 07-057r7 annex E. */
const PIXEL_SIZES = [
  ...[2, 1, 0.5],
  ...[20, 10, 5, 2, 1].map((minutes) => minutes * MINUTE),
  ...[30, 15, 5, 3, 1, 0.5, 0.3, 0.1, 0.03, 0.01].map((seconds) => seconds * SECOND),
];

/** OGC 07-057r7 annex E. */
const ROUND_SCALES = [
  ...[500e6, 250e6, 100e6, 50e6, 25e6, 10e6, 5e6, 2.5e6, 1e6],
  ...[500e3, 250e3, 100e3, 50e3, 25e3, 10e3, 5e3, 2.5e3, 1e3],
  ...[500, 250, 100],
];

let made: readonly GridSet[] | null = null;

/** The grid sets that are there without being declared, under GeoWebCache's names; made when first asked for. */
export function builtInGridSets(): readonly GridSet[] {
  made ??= [
    geodetic(1),
    mercator(1),
    geodetic(2),
    mercator(2),
    ...wellKnownScaleSets(),
    ...createOgcGridSets(),
  ];
  return made;
}

/** `density` 2 makes tiles of 512 pixels that cover the same ground. */
function geodetic(density: 1 | 2): GridSet {
  return wellKnownGridSet({
    name: density === 1 ? 'EPSG:4326' : 'EPSG:4326x2',
    description: `Longitude and latitude, two tiles of ${256 * density} pixels at level 0`,
    srs: 4326,
    extent: WORLD_DEGREES,
    resolutions: ladder(0.703125 / density, 22),
    tileWidth: 256 * density,
    tileHeight: 256 * density,
  });
}

function mercator(density: 1 | 2): GridSet {
  return wellKnownGridSet({
    name: density === 1 ? 'EPSG:900913' : 'EPSG:900913x2',
    aliases:
      density === 1 ? ['EPSG:3857', 'GoogleMapsCompatible'] : ['EPSG:3857x2', 'GoogleMapsCompatiblex2'],
    description: `Web mercator, one tile of ${256 * density} pixels at level 0`,
    srs: 900913,
    extent: square(GOOGLE_HALF_WORLD),
    resolutions: ladder(156543.03390625 / density, 31),
    tileWidth: 256 * density,
    tileHeight: 256 * density,
  });
}

function wellKnownScaleSets(): readonly GridSet[] {
  return [
    worldInDegrees({
      name: 'GlobalCRS84Pixel',
      description: 'Longitude and latitude with round pixel sizes, 2° to 0.01″',
      resolutions: PIXEL_SIZES,
    }),
    worldInDegrees({
      name: 'GlobalCRS84Scale',
      description: 'Longitude and latitude with round scales, 1:500,000,000 to 1:100',
      scaleDenominators: ROUND_SCALES,
    }),
    worldInDegrees({
      name: 'GoogleCRS84Quad',
      description: 'Longitude and latitude, one tile at level 0',
      scaleDenominators: ladder(GOOGLE_CRS84_SCALE, 19),
    }),
  ];
}

function worldInDegrees(options: Omit<GridSetOptions, 'srs' | 'extent'>): GridSet {
  return wellKnownGridSet({
    srs: 4326,
    extent: WORLD_DEGREES,
    alignTopLeft: true,
    ...options,
  });
}
