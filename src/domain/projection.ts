import proj4 from 'proj4';
import { remembered } from '../lib/get-or-create.ts';
import { type Bounds, boundsOfPoints, polygonOfBounds } from './bounds.ts';
import { misconfigured, shortened } from './errors.ts';
import type { GridSet } from './grid-set.ts';
import { definitionOfSrs } from './projection-definitions.ts';
import { sameSrs } from './srs.ts';

/** x and y, or longitude and latitude in degrees. */
export type Point = readonly [number, number];

/** Converts between a CRS and degrees of WGS84. */
export interface Projection {
  /** Null where the CRS has no such place. */
  toLonLat(x: number, y: number): Point | null;
  /** Null where the CRS does not reach. */
  fromLonLat(longitude: number, latitude: number): Point | null;
  /** The smallest box known to hold all of `bounds`; across the antimeridian it is the whole circle. */
  boundsToWgs84(bounds: Bounds): Bounds | null;
}

const DEGREES = 4326;
const WEB_MERCATOR = 3857;
const EARTH_RADIUS = 6378137;
const DEGREES_PER_RADIAN = 180 / Math.PI;
const MAX_DEFINITION = 1000;
/** Parts that an edge is followed in: its middle bulges, in a country's grid by kilometres. */
const STEPS = 16;
const HALF_CIRCLE = 180;
/** Some projections have no place for a pole. */
const MAX_LATITUDE = 89.9;

const degrees: Projection = {
  toLonLat: (x, y) => (Math.abs(y) <= 90 ? [x, y] : null),
  fromLonLat: (longitude, latitude) => [longitude, latitude],
  boundsToWgs84: (bounds) => withinTheWorld(bounds),
};

const webMercator: Projection = {
  toLonLat: (x, y) => mercatorToDegrees(x, y),
  fromLonLat(longitude, latitude) {
    if (Math.abs(latitude) >= 90) return null;
    const y = Math.log(Math.tan((45 + latitude / 2) / DEGREES_PER_RADIAN)) * EARTH_RADIUS;
    return [(longitude / DEGREES_PER_RADIAN) * EARTH_RADIUS, y];
  },
  boundsToWgs84({ minX, minY, maxX, maxY }) {
    const [west, south] = mercatorToDegrees(minX, minY);
    const [east, north] = mercatorToDegrees(maxX, maxY);
    return withinTheWorld({ minX: west, minY: south, maxX: east, maxY: north });
  },
};

const byDefinition = new Map<string, Projection>();
const MAX_REMEMBERED = 1000;

/** Null for an unknown CRS. */
export function projectionOf({ srs, projection }: Pick<GridSet, 'srs' | 'projection'>): Projection | null {
  if (projection !== null) return projectionBy(projection);
  return projectionOfSrs(srs);
}

/** PROJ definition; null for an unknown CRS. */
export function definitionOf({ srs, projection }: Pick<GridSet, 'srs' | 'projection'>): string | null {
  if (projection !== null) return projection;
  if (srs === DEGREES) return '+proj=longlat +datum=WGS84 +no_defs';
  return sameSrs(srs, WEB_MERCATOR) ? '+proj=merc +R=6378137 +units=m +no_defs' : definitionOfSrs(srs);
}

/** Whether its x is the longitude, so that places beyond 180° have one too. */
export function isCylindrical(projection: Projection): boolean {
  return projection === degrees || projection === webMercator;
}

/** By EPSG code; null: there is no definition of it here. */
export function projectionOfSrs(srs: number): Projection | null {
  if (srs === DEGREES) return degrees;
  if (sameSrs(srs, WEB_MERCATOR)) return webMercator;
  const definition = definitionOfSrs(srs);
  return definition === null ? null : projectionBy(definition);
}

/** From a PROJ definition such as `+proj=utm +zone=32 +ellps=GRS80`. Throws `config-invalid`. */
export function createProjection(definition: string): Projection {
  const converter = converterOf(definition);
  const projection: Projection = {
    toLonLat: (x, y) => onEarth(attempted(() => converter.inverse([x, y]))),
    fromLonLat: (longitude, latitude) => attempted(() => converter.forward([longitude, latitude])),
    boundsToWgs84: remembered((bounds: Bounds) => boxAround(projection, bounds)),
  };
  return projection;
}

/** A box around one of degrees; null where the CRS does not reach. */
export function boundsFromWgs84(projection: Projection, { minX, minY, maxX, maxY }: Bounds): Bounds | null {
  const steps = isCylindrical(projection) ? 1 : STEPS;
  const shares = Array.from({ length: steps + 1 }, (_, step) => step / steps);
  const places = shares.flatMap((u) =>
    shares.flatMap((v) => {
      const latitude = Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, minY + (maxY - minY) * v));
      const longitude = minX + (maxX - minX) * u;
      const place = projection.fromLonLat(longitude, latitude);
      return place && isFaithful(projection, place, latitude) ? [place] : [];
    }),
  );
  return places.length === 0 ? null : boundsOfPoints(places);
}

/** The circumference of the earth: some projections have a pole at infinity. */
const FARTHEST = 2 * Math.PI * EARTH_RADIUS;

/** Whether a place converts back: far outside its area a projection returns places of others. */
function isFaithful(projection: Projection, place: Point, latitude: number): boolean {
  if (isCylindrical(projection)) return true;
  if (Math.max(Math.abs(place[0]), Math.abs(place[1])) > FARTHEST) return false;
  const back = projection.toLonLat(...place);
  return back !== null && Math.abs(back[1] - latitude) < 1e-3;
}

/** Throws `config-invalid` unless a given projection is valid and reaches the grid set. */
export function checkProjection({ name, srs, projection, extent }: GridSet): void {
  if (projection === null || projectionOf({ srs, projection })?.boundsToWgs84(extent)) return;
  throw misconfigured(
    `The extent of grid set ${name} cannot be converted to degrees by its projection ${shortened(projection)}.`,
  );
}

function projectionBy(definition: string): Projection {
  const known = byDefinition.get(definition);
  if (known) return known;
  const projection = createProjection(definition);
  if (byDefinition.size < MAX_REMEMBERED) byDefinition.set(definition, projection);
  return projection;
}

interface Converter {
  forward(point: [number, number]): [number, number];
  inverse(point: [number, number]): [number, number];
}

/** Only parameter lists: the library would also look up names, and read grids that are not loaded. */
function converterOf(definition: string): Converter {
  try {
    if (!definition.startsWith('+proj=') || definition.length > MAX_DEFINITION) throw new Error();
    return proj4(definition);
  } catch {
    throw misconfigured(
      `The projection ${shortened(definition)} is not understood; write it as PROJ does, for example +proj=utm +zone=32 +ellps=GRS80.`,
    );
  }
}

/** The library throws at some impossible places and returns NaN or infinity at others. */
function attempted(convert: () => Point): Point | null {
  try {
    const [x, y] = convert();
    return Number.isFinite(x) && Number.isFinite(y) ? [x, y] : null;
  } catch {
    return null;
  }
}

function onEarth(place: Point | null): Point | null {
  return place && Math.abs(place[0]) <= HALF_CIRCLE && Math.abs(place[1]) <= 90 ? place : null;
}

function boxAround(projection: Projection, bounds: Bounds): Bounds | null {
  const edge = edgeOf(bounds).flatMap(([x, y]) => {
    const place = projection.toLonLat(x, y);
    return place ? [place] : [];
  });
  if (edge.length === 0) return null;
  const longitudes = edge.map(([longitude]) => longitude);
  const latitudes = edge.map(([, latitude]) => latitude);
  const north = holdsPole(projection, bounds, 90);
  const south = holdsPole(projection, bounds, -90);
  const round = north || south || goesRound(longitudes);
  return {
    minX: round ? -HALF_CIRCLE : Math.min(...longitudes),
    minY: south ? -90 : Math.min(...latitudes),
    maxX: round ? HALF_CIRCLE : Math.max(...longitudes),
    maxY: north ? 90 : Math.max(...latitudes),
  };
}

/** Corners and points between, once around. */
function edgeOf(bounds: Bounds): readonly Point[] {
  const [corners = []] = polygonOfBounds(bounds);
  return corners.slice(1).flatMap(([x, y], index) => {
    const [nextX, nextY] = corners[index] ?? [x, y];
    return Array.from({ length: STEPS }, (_, step): Point => {
      const share = step / STEPS;
      return [x + (nextX - x) * share, y + (nextY - y) * share];
    });
  });
}

function holdsPole(projection: Projection, { minX, minY, maxX, maxY }: Bounds, latitude: number): boolean {
  const pole = projection.fromLonLat(0, latitude);
  // A projection maps some far places into the picture although they are outside.
  const back = pole && projection.toLonLat(...pole);
  if (!pole || !back || Math.abs(back[1] - latitude) > 1e-6) return false;
  const [x, y] = pole;
  return x > minX && x < maxX && y > minY && y < maxY;
}

function goesRound(longitudes: readonly number[]): boolean {
  return longitudes.some((longitude, index) => {
    const next = longitudes[(index + 1) % longitudes.length] ?? longitude;
    return Math.abs(next - longitude) > HALF_CIRCLE;
  });
}

function mercatorToDegrees(x: number, y: number): Point {
  const longitude = (x / EARTH_RADIUS) * DEGREES_PER_RADIAN;
  const latitude = (2 * Math.atan(Math.exp(y / EARTH_RADIUS)) - Math.PI / 2) * DEGREES_PER_RADIAN;
  return [longitude, latitude];
}

function withinTheWorld({ minX, minY, maxX, maxY }: Bounds): Bounds {
  return {
    minX: Math.max(-HALF_CIRCLE, minX),
    minY: Math.max(-90, minY),
    maxX: Math.min(HALF_CIRCLE, maxX),
    maxY: Math.min(90, maxY),
  };
}
