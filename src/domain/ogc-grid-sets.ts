import type { Bounds } from './bounds.ts';
import { type GridSet, type GridSetOptions, wellKnownGridSet } from './grid-set.ts';

/** What each of them is made of; levels are named by bare numbers. */
interface TileMatrixSet extends Pick<GridSetOptions, 'name' | 'srs' | 'extent'> {
  readonly description: string;
  readonly resolutions: readonly number[];
}

const MERCATOR_HALF_WORLD = 20037508.3427892;
const WORLD_DEGREES: Bounds = { minX: -180, minY: -90, maxX: 180, maxY: 90 };
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
export function createOgcGridSets(): readonly GridSet[] {
  return tileMatrixSets().flatMap((set) => [made(set, 1), made(set, 2)]);
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

/** One tile across at level 0. */
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

function made({ name, description, resolutions, ...set }: TileMatrixSet, density: 1 | 2): GridSet {
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

export function square(half: number): Bounds {
  return { minX: -half, minY: -half, maxX: half, maxY: half };
}
