import type { GridSet } from '../../../domain/grid-set.ts';
import { type CrsNames, createCrsNames } from '../wmts/grid-set-crs.ts';

/** How a grid set's CRS is named and its coordinates are written in OGC API documents. */
export interface OgcCrs {
  readonly uri: string;
  readonly yFirst: boolean;
  readonly orderedAxes: readonly [string, string];
  readonly wellKnownScaleSet: string | null;
  /** Of a tile matrix set that the OGC has registered; null for others. */
  readonly tileMatrixSetUri: string | null;
}

export type OgcCrsNames = (gridSet: GridSet) => OgcCrs;

const CRS84_URN = 'urn:ogc:def:crs:OGC:1.3:CRS84';
export const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84';
/** OGC 17-083r4, annex D, that are built in here exactly as they are registered. */
const REGISTERED: ReadonlySet<string> = new Set(['WebMercatorQuad', 'WorldCRS84Quad']);
const DEGREES = 4326;

export function createOgcCrsNames(): OgcCrsNames {
  const names = createCrsNames();
  return (gridSet) => describeCrs(gridSet, names);
}

function describeCrs(gridSet: GridSet, names: CrsNames): OgcCrs {
  const registered = REGISTERED.has(gridSet.name);
  const { urn, yFirst, wellKnownScaleSet } = names(gridSet);
  // OGC 17-083r4, annex D.2: it is defined in CRS84, longitude first.
  const longitudeFirst = urn === CRS84_URN || gridSet.name === 'WorldCRS84Quad';
  return {
    uri: longitudeFirst ? CRS84 : uriOf(urn),
    yFirst: longitudeFirst ? false : yFirst,
    orderedAxes: axesOf(gridSet, longitudeFirst ? false : yFirst),
    wellKnownScaleSet: wellKnownScaleSet && wkssUri(wellKnownScaleSet),
    tileMatrixSetUri: registered ? `http://www.opengis.net/def/tilematrixset/OGC/1.0/${gridSet.name}` : null,
  };
}

function axesOf({ srs }: GridSet, yFirst: boolean): readonly [string, string] {
  const [x, y] = srs === DEGREES ? ['Lon', 'Lat'] : ['E', 'N'];
  return yFirst ? [y, x] : [x, y];
}

/** `urn:ogc:def:crs:EPSG::3857` is `http://www.opengis.net/def/crs/EPSG/0/3857`. */
function uriOf(urn: string): string {
  return `http://www.opengis.net/def/crs/EPSG/0/${urn.slice(urn.lastIndexOf(':') + 1)}`;
}

function wkssUri(urn: string): string {
  return `http://www.opengis.net/def/wkss/OGC/1.0/${urn.slice(urn.lastIndexOf(':') + 1)}`;
}
