import { shortened } from '../../../domain/errors.ts';
import type { GridSet } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import { sameSrs } from '../../../domain/srs.ts';
import type { Kvp } from '../kvp.ts';
import { WmsException } from './wms-exception.ts';
import { required } from './wms-parameters.ts';
import type { WmsVersion } from './wms-version.ts';

/** A CRS as a caller names it. */
export interface AskedCrs {
  readonly name: string;
  readonly code: number;
  /** CRS:84 is EPSG:4326 with longitude first in every version. */
  readonly longitudeFirst: boolean;
}

const WEB_MERCATOR = 3857;
const DEGREES = 4326;
const CODE = /^(?:EPSG:|urn:(?:x-)?ogc:def:crs:EPSG:[\d.]*:)([1-9]\d{0,8})$/i;
const CRS84 = /^(?:CRS:84|OGC:CRS84|urn:ogc:def:crs:OGC:(?:1\.3)?:CRS84)$/i;

/** 1.1.1 calls it SRS, 1.3.0 CRS; who mixes them up is understood. */
export function crsAsked(asked: Kvp, version: WmsVersion): AskedCrs {
  const [usual, other] = version === '1.3.0' ? ['CRS', 'SRS'] : ['SRS', 'CRS'];
  const name = asked(usual ?? '') ?? asked(other ?? '') ?? required(asked, usual ?? '');
  if (CRS84.test(name)) return { name, code: DEGREES, longitudeFirst: true };
  const [, code] = CODE.exec(name) ?? [];
  if (code !== undefined) return { name, code: Number(code), longitudeFirst: false };
  throw invalidCrs(version, `${usual} must be a code such as EPSG:3857, not ${shortened(name)}.`);
}

/** The grid sets of a layer in that CRS. */
export function subsetsIn(
  layer: Layer,
  crs: AskedCrs,
  version: WmsVersion,
): readonly [GridSubset, ...GridSubset[]] {
  const [first, ...others] = layer.gridSubsets.filter(({ gridSet }) => sameSrs(gridSet.srs, crs.code));
  if (first) return [first, ...others];
  const offered = [...new Set(layer.gridSubsets.flatMap(({ gridSet }) => crsNames(gridSet, version)))];
  throw invalidCrs(
    version,
    `Layer ${layer.name} is not there in ${shortened(crs.name)}; it is in ${offered.join(', ')}.`,
  );
}

/** All names under which a grid set's CRS may be asked for; the first is the usual one. */
export function crsNames({ srs }: GridSet, version: WmsVersion): readonly [string, ...string[]] {
  if (sameSrs(srs, WEB_MERCATOR)) return ['EPSG:3857', 'EPSG:900913'];
  if (srs === DEGREES && version === '1.3.0') return ['EPSG:4326', 'CRS:84'];
  return [`EPSG:${srs}`];
}

/** WMS 1.3.0, 6.7.2: boxes are in the order of the CRS's axes. In 1.1.1 x comes first whatever the CRS says. */
export function isYFirst(
  gridSet: GridSet,
  crs: Pick<AskedCrs, 'longitudeFirst'>,
  version: WmsVersion,
): boolean {
  if (version === '1.1.1' || crs.longitudeFirst) return false;
  return gridSet.srs === DEGREES || gridSet.yCoordinateFirst;
}

function invalidCrs(version: WmsVersion, message: string): WmsException {
  return version === '1.3.0'
    ? new WmsException('InvalidCRS', 'CRS', message)
    : new WmsException('InvalidSRS', 'SRS', message);
}
