import { describe, expect, it } from 'vitest';
import { createPace } from '../lib/yielding.ts';
import { simplified } from './placed-area.ts';
import { readWkb, wkbOfGeoPackage } from './read-wkb.ts';

const pace = createPace(1000);
const POINTS = [
  [0, 0],
  [4, 0],
  [4, 3],
  [0, 0],
] as const;

/** A polygon of one ring; `more` values follow x and y of each point. */
function polygon(code: number, { srid, more = 0 }: { srid?: number; more?: number } = {}): Buffer {
  const head = Buffer.alloc(srid === undefined ? 13 : 17);
  head.writeUInt8(1, 0);
  head.writeUInt32LE(code >>> 0, 1);
  if (srid !== undefined) head.writeUInt32LE(srid, 5);
  head.writeUInt32LE(1, head.length - 8);
  head.writeUInt32LE(POINTS.length, head.length - 4);
  const values = POINTS.flatMap((point) => [...point, ...Array<number>(more).fill(99)]);
  return Buffer.concat([head, Buffer.from(new Float64Array(values).buffer)]);
}

function collection(type: number, ...parts: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(9);
  head.writeUInt8(1, 0);
  head.writeUInt32LE(type, 1);
  head.writeUInt32LE(parts.length, 5);
  return Buffer.concat([head, ...parts]);
}

describe('geometries in WKB', () => {
  it.each([
    ['a polygon', polygon(3), null, 1],
    ['a polygon of PostGIS with Z and an SRID', polygon(0xa0000003, { srid: 28992, more: 1 }), 28992, 1],
    ['a polygon of ISO with Z and M', polygon(3003, { more: 2 }), null, 1],
    ['a multipolygon', collection(6, polygon(3), polygon(3)), null, 2],
    ['a collection', collection(7, collection(6, polygon(3)), polygon(1003, { more: 1 })), null, 2],
  ])('%s is read', (_, bytes, srs, count) => {
    expect(readWkb(bytes)).toEqual({ srs, polygons: Array(count).fill([POINTS]) });
  });

  it.each([
    ['a point', Buffer.concat([polygon(1).subarray(0, 5), Buffer.alloc(16)]), 'type 1'],
    ['a polygon that is cut off', polygon(3).subarray(0, 40), 'cut off'],
    ['nothing', Buffer.alloc(0), 'cut off'],
    [
      'a point without a place',
      Buffer.concat([polygon(3).subarray(0, 13), Buffer.alloc(64, 0xff)]),
      'not finite',
    ],
    ['a count beyond its bytes', Buffer.from('0106000000ffffffff', 'hex'), 'cut off'],
  ])('%s is refused', (_, bytes, reason) => {
    expect(() => readWkb(bytes)).toThrow(reason);
  });

  it('a GeoPackage geometry has a header of the length that it names, or is empty', () => {
    const header = (flags: number, length: number) => {
      const bytes = Buffer.alloc(length);
      bytes.write('GP', 0, 'latin1');
      bytes.writeUInt8(flags, 3);
      return bytes;
    };
    for (const [flags, length] of [
      [1, 8],
      [3, 40],
      [9, 72],
    ] as const)
      expect(wkbOfGeoPackage(Buffer.concat([header(flags, length), polygon(3)]))).toEqual(polygon(3));
    expect(wkbOfGeoPackage(header(0x11, 8))).toBeNull();
    expect(() => wkbOfGeoPackage(polygon(3))).toThrow('GeoPackage');
  });
});

describe('simplified polygons', () => {
  it('a shape of many points keeps its form with few, and small rings become boxes', async () => {
    const ring = Array.from({ length: 50_000 }, (_, i): [number, number] => {
      const angle = (2 * Math.PI * i) / 50_000;
      return [100 * Math.cos(angle), 100 * Math.sin(angle)];
    });
    const tiny = ring.map(([x, y]): [number, number] => [x / 1e6, y / 1e6]);
    const [circle, dot] = await simplified([[ring], [tiny]], 10_000, pace);
    expect(circle?.[0]?.length).toBeGreaterThan(1000);
    expect(circle?.[0]?.every(([x, y]) => Math.abs(Math.hypot(x, y) - 100) < 1e-6)).toBe(true);
    expect(dot?.[0]).toHaveLength(4);
    expect(await simplified([[[...POINTS]]], 10_000, pace)).toEqual([[POINTS]]);
  });
});
