import { shortened } from '../../../domain/errors.ts';
import type { Kvp } from '../kvp.ts';
import { WmsException } from './wms-exception.ts';

export const WMS_VERSIONS = ['1.1.1', '1.3.0'] as const;
export type WmsVersion = (typeof WMS_VERSIONS)[number];

const PARTS = /^(\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?$/;

/**
 * The version that a map is asked in. `WMTVER` is what WMS 1.0.0 called it. Who says nothing speaks as GeoWebCache's
 * clients do, unless they use a word of 1.3.0.
 */
export function versionOf(asked: Kvp): WmsVersion {
  const given = asked('VERSION') ?? asked('WMTVER');
  if (given === null) return asked('CRS') !== null && asked('SRS') === null ? '1.3.0' : '1.1.1';
  const known = nearest(given);
  if (known) return known;
  throw new WmsException(
    'InvalidParameterValue',
    'VERSION',
    `The versions of WMS spoken here are ${WMS_VERSIONS.join(' and ')}, not ${shortened(given)}.`,
  );
}

/** WMS 1.3.0, 6.2.4: the one asked for, else the next lower one, else the lowest; the highest when none is named. */
export function negotiatedVersion(asked: Kvp): WmsVersion {
  const given = asked('VERSION') ?? asked('WMTVER');
  // GeoWebCache tells of its tile sets in 1.1.1 only.
  if (given === null) return asksForTileSets(asked) ? '1.1.1' : '1.3.0';
  const [, major = '0', minor = '0'] = PARTS.exec(given) ?? [];
  return Number(major) > 1 || Number(minor) >= 3 ? '1.3.0' : '1.1.1';
}

export function asksForTileSets(asked: Kvp): boolean {
  return asked('TILED')?.toLowerCase() === 'true';
}

/** What differs from 1.1.1 before it, and from 1.3.0 after it, is nothing that we look at. */
function nearest(given: string): WmsVersion | null {
  const [, major, minor] = PARTS.exec(given) ?? [];
  if (major !== '1') return null;
  if (minor === '3') return '1.3.0';
  return minor === '0' || minor === '1' ? '1.1.1' : null;
}
