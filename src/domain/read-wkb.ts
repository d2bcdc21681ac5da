import type { Polygon } from './bounds.ts';
import { invalid } from './errors.ts';
import type { Point } from './projection.ts';

interface WkbShape {
  /** EPSG code of the geometry; null: none. */
  readonly srs: number | null;
  readonly polygons: readonly Polygon[];
}

const POLYGON = 3;
const MULTI_POLYGON = 6;
const COLLECTION = 7;
/** Geometries in geometries. */
const MAX_DEPTH = 8;

/**
 * OGC 06-103r4, 8: polygons, alone or in collections, also with Z or M; and PostGIS's form with an SRID.
 * Throws `request-invalid`.
 */
export function readWkb(bytes: Buffer): WkbShape {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const polygons: Polygon[] = [];
  let srs: number | null = null;
  let at = 0;

  function readGeometry(depth: number): void {
    const little = view.getUint8(at) === 1;
    const code = view.getUint32(at + 1, little);
    at += 5;
    if (code & 0x20000000) {
      srs = view.getUint32(at, little) || null;
      at += 4;
    }
    // ISO writes Z and M as thousands, PostGIS as the upper bits.
    const type = (code & 0xffff) % 1000;
    const thousands = Math.floor((code & 0xffff) / 1000);
    const hasZ = (code & 0x80000000) !== 0 || thousands === 1 || thousands === 3;
    const hasM = (code & 0x40000000) !== 0 || thousands >= 2;
    const size = 8 * (2 + Number(hasZ) + Number(hasM));
    if (type === POLYGON) polygons.push(readRings(little, size));
    else if ((type === MULTI_POLYGON || type === COLLECTION) && depth < MAX_DEPTH) {
      for (let left = readCount(little); left > 0; left--) readGeometry(depth + 1);
    } else throw invalid(`It has a geometry of type ${type}; polygons and multipolygons are allowed.`);
  }

  function readCount(little: boolean): number {
    at += 4;
    return view.getUint32(at - 4, little);
  }

  function readRings(little: boolean, size: number): Polygon {
    const rings: Point[][] = [];
    for (let left = readCount(little); left > 0; left--) {
      const ring: Point[] = [];
      for (let points = readCount(little); points > 0; points--) {
        const [x, y] = [view.getFloat64(at, little), view.getFloat64(at + 8, little)];
        if (!Number.isFinite(x + y)) throw invalid(`It has the point ${x} ${y}, which is not finite.`);
        ring.push([x, y]);
        at += size;
      }
      rings.push(ring);
    }
    return rings;
  }

  try {
    readGeometry(0);
  } catch (error) {
    if (error instanceof RangeError) throw invalid('Its geometry is cut off.');
    throw error;
  }
  return { srs, polygons };
}

const ENVELOPE_DOUBLES = [0, 4, 6, 6, 8];

/** OGC 12-128r18, 2.1.3: the header of a GeoPackage geometry; what follows is WKB. Null: it is empty. */
export function wkbOfGeoPackage(blob: Buffer): Buffer | null {
  if (blob.length < 8 || blob.toString('latin1', 0, 2) !== 'GP')
    throw invalid('It has a geometry that is not a GeoPackage geometry.');
  const flags = blob.readUInt8(3);
  if (flags & 0x10) return null;
  return blob.subarray(8 + 8 * (ENVELOPE_DOUBLES[(flags >> 1) & 7] ?? 0));
}
