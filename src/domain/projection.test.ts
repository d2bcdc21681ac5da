import { describe, expect, it } from 'vitest';
import { boundsOf } from './bounds.ts';
import { createGridSet } from './grid-set.ts';
import { checkProjection, createProjection, projectionOf, projectionOfSrs } from './projection.ts';

/** Where a longitude and latitude lie in each CRS, as PROJ 9 computes it. */
const PLACES: readonly [number, readonly [number, number], readonly [number, number]][] = [
  [2056, [7.44, 46.95], [2600104.109, 1199879.628]],
  [2154, [2.3, 48.8], [648583.262, 6855774.716]],
  [2180, [21, 52.2], [636640.467, 483432.201]],
  [3006, [18, 59.3], [670817.916, 6577304.567]],
  [3035, [10, 50], [4321000, 2987510.567]],
  [3857, [10, 50], [1113194.908, 6446275.841]],
  [4326, [10, 50], [10, 50]],
  [5514, [14.4, 50.1], [-744125.863, -1041424.275]],
  [21781, [8.5, 47.4], [680120.182, 250450.279]],
  [25832, [9, 50], [500000, 5538630.703]],
  [27700, [-1.5, 52.5], [434039.457, 289239.281]],
  [28992, [5, 52], [128410.085, 445806.509]],
  [31370, [4.35, 50.85], [148679.447, 171066.81]],
  [31467, [9.1, 48.7], [3507436.38, 5395830.797]],
  [32632, [9, 50], [500000, 5538630.703]],
  [32733, [15, -20], [500000, 7788518.692]],
];

function lambert(projection: string | null = null) {
  return createGridSet({
    name: 'LAMB93',
    srs: 2154,
    projection,
    extent: boundsOf([0, 6000000, 1300000, 7200000]),
    resolutions: [2000],
  });
}

describe('projections', () => {
  it.each(PLACES)('EPSG:%i has the places of PROJ, there and back', (code, place, expected) => {
    const projection = projectionOfSrs(code);
    const [x, y] = projection?.fromLonLat(...place) ?? [Number.NaN, Number.NaN];
    expect(Math.hypot(x - expected[0], y - expected[1])).toBeLessThan(2);
    const [longitude, latitude] = projection?.toLonLat(x, y) ?? [Number.NaN, Number.NaN];
    expect(longitude).toBeCloseTo(place[0], 6);
    expect(latitude).toBeCloseTo(place[1], 6);
  });

  it('web mercator is found by all its numbers, and no projection for an undefined number', () => {
    expect(projectionOfSrs(900913)).toBe(projectionOfSrs(3857));
    expect(projectionOfSrs(102100)).toBe(projectionOfSrs(3857));
    expect(projectionOfSrs(999999)).toBeNull();
  });

  it('a projection takes the definition of the grid set before that of the code', () => {
    const elsewhere = projectionOf({ srs: 2154, projection: '+proj=utm +zone=32 +ellps=GRS80' });
    expect(elsewhere?.fromLonLat(9, 50)?.[0]).toBeCloseTo(500000, 3);
    expect(projectionOf({ srs: 999999, projection: '+proj=longlat +ellps=WGS84' })?.toLonLat(7, 8)).toEqual([
      7, 8,
    ]);
  });

  it('the box in degrees is found along the edges, not at the corners alone', () => {
    const { extent } = lambert();
    const box = projectionOfSrs(2154)?.boundsToWgs84(extent);
    const corner = projectionOfSrs(2154)?.toLonLat(extent.minX, extent.maxY);
    const top = projectionOfSrs(2154)?.toLonLat(700000, extent.maxY);
    expect(box?.maxY).toBeGreaterThan((corner?.[1] ?? 90) + 0.3);
    expect(Math.abs((box?.maxY ?? 0) - (top?.[1] ?? 0))).toBeLessThan(0.01);
  });

  it('the box in degrees goes all the way round if a pole or the antimeridian is inside', () => {
    const arctic = projectionOfSrs(3413)?.boundsToWgs84(boundsOf([-1e6, -1e6, 1e6, 1e6]));
    expect(arctic).toMatchObject({ minX: -180, maxX: 180, maxY: 90 });
    expect(arctic?.minY).toBeGreaterThan(70);
    const fiji = projectionOfSrs(32760)?.boundsToWgs84(boundsOf([500000, 7900000, 1200000, 8300000]));
    expect(fiji).toMatchObject({ minX: -180, maxX: 180 });
  });

  it('the box in degrees stays within the world for extents that reach out of it', () => {
    expect(projectionOfSrs(4326)?.boundsToWgs84(boundsOf([-200, -100, 200, 100]))).toEqual(
      boundsOf([-180, -90, 180, 90]),
    );
    expect(projectionOfSrs(3857)?.fromLonLat(0, 90)).toBeNull();
    expect(projectionOfSrs(4326)?.toLonLat(0, 91)).toBeNull();
  });

  it.each(['', 'EPSG:2154', '+proj=nonsense', '+init=epsg:2154', `+proj=longlat +title=${'x'.repeat(1000)}`])(
    'a projection refuses the definition %j',
    (definition) => {
      expect(() => createProjection(definition)).toThrow(/is not understood/);
    },
  );

  it('a grid set is refused if its projection does not reach its extent', () => {
    expect(() => checkProjection(lambert('+proj=longlat +ellps=WGS84'))).toThrow(
      /cannot be converted to degrees/,
    );
    expect(() => checkProjection(lambert())).not.toThrow();
  });
});
