import { type Bounds, containsBounds } from './bounds.ts';
import { type GridSetOptions, MAX_LEVELS, METERS_PER_DEGREE } from './grid-set.ts';
import { nationalGridsOf } from './national-grids.ts';
import { definitionOf } from './projection.ts';

export interface GridSetProposal {
  /** ISO 3166-1 alpha-2, and the publisher of tiles like these; both null: computed from the extent. */
  readonly country: string | null;
  readonly publisher: string | null;
  /** All of the wanted extent is in it. */
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
/** Of any zone: three degrees to each side, from the equator to 84° north or 80° south. */
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
