import type { Bounds } from './bounds.ts';
import { type GridSet, type GridSetOptions, wellKnownGridSet } from './grid-set.ts';

const WORLD_DEGREES: Bounds = { minX: -180, minY: -90, maxX: 180, maxY: 90 };
const GOOGLE_HALF_WORLD = 20037508.34;
/** The scale denominator at which the whole world is one tile of 256 pixels. */
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

let gridSets: readonly GridSet[] | null = null;

/** The built-in grid sets, under GeoWebCache's names; created when first used. */
export function builtInGridSets(): readonly GridSet[] {
  gridSets ??= [
    geodetic(1),
    mercator(1),
    geodetic(2),
    mercator(2),
    ...wellKnownScaleSets(),
    ...createOgcGridSets(),
  ];
  return gridSets;
}

/** `density` 2 makes tiles of 512 pixels that cover the same ground. */
function geodetic(density: 1 | 2): GridSet {
  return wellKnownGridSet({
    name: density === 1 ? 'EPSG:4326' : 'EPSG:4326x2',
    aliases: density === 1 ? ['GlobalCRS84Geometric'] : ['GlobalCRS84Geometricx2'],
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

/** A set of OGC 17-083r2; its levels are named by bare numbers. */
interface TileMatrixSet extends Pick<GridSetOptions, 'name' | 'srs' | 'extent'> {
  readonly description: string;
  readonly resolutions: readonly number[];
}

const MERCATOR_HALF_WORLD = 20037508.3427892;
/** The same for all 60 zones; one tile wide and two high at level 0. */
const UTM: Bounds = {
  minX: -9501965.72931276,
  minY: -20003931.4586255,
  maxX: 10501965.7293128,
  maxY: 20003931.4586255,
};
const UTM_ZONES = 60;
const FIRST_UTM_CODE = 32601;
const POLAR: Bounds = {
  minX: -14440759.350252,
  minY: -14440759.350252,
  maxX: 18440759.350252,
  maxY: 18440759.350252,
};
/** Each set of five is a tenth of the one before it, about. */
const CANADIAN_SCALES = [
  ...[137016643.080905, 80320101.1163925, 47247118.3037603, 28348270.9822562, 16536491.4063161],
  ...[9449423.66075207, 5669654.19645125, 3307298.28126323, 1889884.73215041, 1133930.83929025],
  ...[661459.656252643, 396875.793751586, 236235.591518802, 137016.643080905, 80320.1011163925],
  ...[47247.1183037603, 28348.2709822562, 16536.4914063161, 9449.42366075207, 5669.65419645125],
  ...[3307.29828126323, 1889.88473215041, 1133.93083929025, 661.459656252643, 396.875793751586],
  236.235591518802,
];
/** Metres on a screen. */
const PIXEL_SIZE = 0.00028;
const TILE_SIZE = 256;

/** OGC 17-083r2, annex D, each also with tiles of 512 pixels, which GeoWebCache calls `x2`. */
function createOgcGridSets(): readonly GridSet[] {
  return tileMatrixSets().flatMap((set) => [gridSetOf(set, 1), gridSetOf(set, 2)]);
}

function tileMatrixSets(): readonly TileMatrixSet[] {
  const mercator = square(MERCATOR_HALF_WORLD);
  const europe = { minX: 2_000_000, minY: 1_000_000, maxX: 6_500_000, maxY: 5_500_000 };
  const canada = {
    minX: -7786476.885838887,
    minY: -5153821.09213678,
    maxX: 7148753.233541353,
    maxY: 7928343.534071138,
  };
  return [
    halving('WebMercatorQuad', 'Web mercator as the OGC defines it', 3857, mercator, 25),
    {
      name: 'WorldCRS84Quad',
      description: 'Longitude and latitude as the OGC defines it',
      srs: 4326,
      extent: WORLD_DEGREES,
      resolutions: ladder(0.703125, 18),
    },
    halving('WorldMercatorWGS84Quad', 'Mercator on the ellipsoid', 3395, mercator, 25),
    ...Array.from({ length: UTM_ZONES }, (_, index) => utm(index + 1)),
    halving('UPSArcticWGS84Quad', 'Universal polar stereographic, north', 5041, POLAR, 25),
    halving('UPSAntarcticWGS84Quad', 'Universal polar stereographic, south', 5042, POLAR, 25),
    halving('EuropeanETRS89_LAEAQuad', 'Lambert azimuthal equal area for Europe', 3035, europe, 16),
    {
      name: 'CanadianNAD83_LCC',
      description: 'Lambert conformal conic for Canada',
      srs: 3978,
      extent: canada,
      resolutions: CANADIAN_SCALES.map((scale) => scale * PIXEL_SIZE),
    },
  ];
}

function utm(zone: number): TileMatrixSet {
  const name = `UTM${String(zone).padStart(2, '0')}WGS84Quad`;
  return halving(name, `UTM zone ${zone}`, FIRST_UTM_CODE + zone - 1, UTM, 24);
}

function halving(
  name: string,
  description: string,
  srs: number,
  extent: Bounds,
  levels: number,
): TileMatrixSet {
  const resolutions = ladder((extent.maxX - extent.minX) / TILE_SIZE, levels);
  return { name, description, srs, extent, resolutions };
}

function gridSetOf({ name, description, resolutions, ...set }: TileMatrixSet, density: 1 | 2): GridSet {
  return wellKnownGridSet({
    ...set,
    name: density === 1 ? name : `${name}x2`,
    description: density === 1 ? description : `${description}, tiles of 512 pixels`,
    resolutions: resolutions.map((resolution) => resolution / density),
    levelNames: resolutions.map((_, z) => String(z)),
    tileWidth: TILE_SIZE * density,
    tileHeight: TILE_SIZE * density,
    alignTopLeft: true,
  });
}

export function ladder(first: number, levels: number): readonly number[] {
  return Array.from({ length: levels }, (_, z) => first / 2 ** z);
}

function square(half: number): Bounds {
  return { minX: -half, minY: -half, maxX: half, maxY: half };
}
