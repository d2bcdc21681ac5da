import { type Bounds, boundsOf, containsBounds } from './bounds.ts';
import { ladder } from './built-in-grid-sets.ts';
import { type GridSetOptions, MAX_LEVELS, METERS_PER_DEGREE } from './grid-set.ts';
import { definitionOf } from './projection.ts';

export interface GridSetProposal {
  /** ISO 3166-1 alpha-2, and the publisher of tiles like these; both null: computed from the extent. */
  readonly country: string | null;
  readonly publisher: string | null;
  /** It contains all of the requested extent. */
  readonly covers: boolean;
  readonly options: GridSetOptions & { readonly resolutions: readonly number[] };
}

interface Wanted {
  readonly srs: number;
  /** A PROJ definition that overrides that of the code. */
  readonly projection: string | null;
  /** In units of the CRS; null: not known. */
  readonly extent: Bounds | null;
  readonly isTaken: (name: string) => boolean;
}

/** Units a pixel. */
const FINEST = { metres: 0.125, degrees: 0.703125 / 2 ** 19 };
const TILE_SIZE = 256;
/** Metres, by PROJ's name of the unit. */
const UNITS: Readonly<Record<string, number>> = { km: 1000, ft: 0.3048, 'us-ft': 1200 / 3937 };
/** Bounds of any zone: three degrees to each side, from the equator to 84° north or 80° south. */
const UTM_NORTH: Bounds = { minX: 166021, minY: 0, maxX: 833979, maxY: 9329006 };
const UTM_SOUTH: Bounds = { minX: 166021, minY: 1116915, maxX: 833979, maxY: 10000000 };

/**
 * Grid sets for a CRS, the best first: national ones that cover the extent, one computed from it, other national ones.
 * None is computed if no extent is known.
 */
export function proposeGridSets(wanted: Wanted): readonly GridSetProposal[] {
  const { srs, projection } = wanted;
  const definition = definitionOf(wanted) ?? '';
  const common = { srs, alignTopLeft: true, ...(projection !== null && { projection }) };
  const national = nationalGridsOf(srs).map(({ country, publisher, tileSize, extent, resolutions }) => ({
    country,
    publisher,
    covers: wanted.extent === null || containsBounds(extent, wanted.extent),
    options: {
      ...common,
      name: freeName(wanted, publisher),
      description: publisher,
      extent,
      resolutions,
      tileWidth: tileSize,
      tileHeight: tileSize,
    },
  }));
  const extent = wanted.extent ?? (national.length === 0 ? zoneOf(definition) : null);
  const options = extent && { ...common, name: freeName(wanted, 'local'), ...ladderOver(extent, definition) };
  const computed = options ? [{ country: null, publisher: null, covers: true, options }] : [];
  const others = national.filter(({ covers }) => !covers);
  return [...national.filter(({ covers }) => covers), ...computed, ...others];
}

/** `EPSG:25832`, as GeoWebCache names grid sets; `EPSG:25832 AdV` where that is taken. */
function freeName({ srs, isTaken }: Wanted, suffix: string): string {
  const names = [`EPSG:${srs}`, `EPSG:${srs} ${suffix}`];
  for (let number = 2; ; number++) {
    const free = names.find((name) => !isTaken(name));
    if (free !== undefined) return free;
    names.push(`EPSG:${srs} ${suffix} ${number}`);
  }
}

function zoneOf(definition: string): Bounds | null {
  if (!/\+proj=utm\b/.test(definition)) return null;
  return /\+south\b/.test(definition) ? UTM_SOUTH : UTM_NORTH;
}

/** Powers of two, from one tile around the extent down to about ten centimetres a pixel. */
function ladderOver(extent: Bounds, definition: string) {
  const inDegrees = /\+proj=(?:longlat|latlong|lonlat|latlon)\b/.test(definition);
  const finest = inDegrees ? FINEST.degrees : FINEST.metres;
  const around = roundedOutwards(extent);
  const side = Math.max(around.maxX - around.minX, around.maxY - around.minY);
  const steps = Math.ceil(Math.log2(side / TILE_SIZE / finest));
  const levels = Math.min(Math.max(steps, 0), MAX_LEVELS - 1) + 1;
  const unit = inDegrees ? METERS_PER_DEGREE : UNITS[/\+units=(\S+)/.exec(definition)?.[1] ?? ''];
  return {
    extent: around,
    resolutions: Array.from({ length: levels }, (_, z) => finest * 2 ** (Math.max(steps, 0) - z)),
    ...(unit !== undefined && { metersPerUnit: unit }),
  };
}

/** To about a tenth of the longer side: tiles begin at round coordinates. */
function roundedOutwards({ minX, minY, maxX, maxY }: Bounds): Bounds {
  const step = 10 ** Math.floor(Math.log10(Math.max(maxX - minX, maxY - minY) / 10));
  const at = (value: number) => Number((value * step).toPrecision(12));
  return {
    minX: at(Math.floor(minX / step)),
    minY: at(Math.floor(minY / step)),
    maxX: at(Math.ceil(maxX / step)),
    maxY: at(Math.ceil(maxY / step)),
  };
}

type Row = readonly [
  srs: number,
  country: string,
  publisher: string,
  edges: readonly [minX: number, minY: number, maxX: number, maxY: number],
  resolutions: readonly number[],
  tileSize?: number,
];

/** AdV-Profil WMTS: 1 : 17,471,320.75 at level 0. */
const ADV = ladder(4891.96981025128, 14);
const KARTVERKET = ladder(21664, 19);
const SWISSTOPO = [
  ...[4000, 3750, 3500, 3250, 3000, 2750, 2500, 2250, 2000, 1750, 1500, 1250, 1000, 750, 650, 500],
  ...[250, 100, 50, 20, 10, 5, 2.5, 2, 1.5, 1, 0.5, 0.25, 0.1],
];
/** Shares of 1 : 30,238,155.71, as the capabilities of mapy.geoportal.gov.pl have them. */
const GUGIK = [
  ...[1, 2, 4, 8, 16, 32, 64, 128, 320, 640, 1280, 3200, 6400, 16_000, 32_000, 64_000, 128_000],
].map((share) => (30238155.714285716 * 0.00028) / share);
/** 1 : 7,741,440 at 96 dots per inch, as ArcGIS computes it. */
const CUZK = 2048.260096520193;

/** By capabilities, documentation and public clients of their publishers. The first of several is the most common. */
// biome-ignore format: a table
const ROWS: readonly Row[] = [
  [2056, 'CH', 'swisstopo', [2420000, 1030000, 2900000, 1350000], SWISSTOPO],
  [2154, 'FR', 'IGN', [0, 1237529.6, 1290240, 12000000], ladder(209715.2, 22)],
  [2180, 'PL', 'GUGiK', [100000, 128250, 866900, 850000], GUGIK, 512],
  [3006, 'SE', 'Lantmäteriet', [-1200000, 4305696, 2994304, 8500000], ladder(4096, 14)],
  [3067, 'FI', 'JHS 180', [-548576, 6291456, 1548576, 8388608], ladder(8192, 16)],
  [3301, 'EE', 'Maa-amet', [40500, 5993000, 1064500, 7017000], ladder(4000, 15)],
  [5514, 'CZ', 'ČÚZK', [-925000, -920000 - 256 * CUZK, -925000 + 256 * CUZK, -920000], ladder(CUZK, 14)],
  [21781, 'CH', 'swisstopo', [420000, 30000, 900000, 350000], SWISSTOPO],
  [25832, 'DE', 'AdV', [-46133.17, 5048875.26857567, 1206211.10142433, 6301219.54], ADV],
  [25832, 'DK', 'Dataforsyningen', [120000, 5661139.2, 1378291.2, 6500000], ladder(1638.4, 14)],
  [25832, 'NO', 'Kartverket', [-2000000, 3500000, 3545984, 9045984], KARTVERKET],
  [25833, 'DE', 'AdV', [-464849.38, 5057815.86857567, 787494.89142433, 6310160.14], ADV],
  [25833, 'NO', 'Kartverket', [-2500000, 3500000, 3045984, 9045984], KARTVERKET],
  [25835, 'NO', 'Kartverket', [-3500000, 3500000, 2045984, 9045984], KARTVERKET],
  [27700, 'GB', 'Ordnance Survey', [-238375, 0, 900000, 1376256], ladder(896, 14)],
  [28992, 'NL', 'PDOK', [-285401.92, 22598.08, 595401.92, 903401.92], ladder(3440.64, 15)],
  [31370, 'BE', 'Digitaal Vlaanderen', [9928, 66928, 272072, 329072], ladder(1024, 14)],
];

/** The usual tiles of a country in its own CRS; rows count from the top of the extent. */
export function nationalGridsOf(wanted: number) {
  const rows = ROWS.filter(([srs]) => srs === wanted);
  return rows.map(([srs, country, publisher, edges, resolutions, tileSize = 256]) => {
    return { srs, country, publisher, extent: boundsOf(edges), resolutions, tileSize };
  });
}
