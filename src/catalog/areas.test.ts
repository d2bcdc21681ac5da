import { describe, expect, it } from 'vitest';
import { createReadArea } from '../domain/named-area.ts';
import type { Point } from '../domain/projection.ts';
import { createAreas, packPolygons } from './areas.ts';

const POINTS = 250_000;
const MIN_TURNS = 3;

describe('the shape of an area', () => {
  it('it is packed and read from the database in turns of the event loop, with its bounds', async () => {
    const ring = Array.from({ length: POINTS }, (_, i): Point => {
      const angle = (2 * Math.PI * i) / POINTS;
      return [10 * Math.cos(angle), 5 * Math.sin(angle)];
    });
    const area = createReadArea('zones', 4326, { file: '/zones.gpkg', table: 'zones' });
    const areas = createAreas(new Map([[area.name, area]]));
    let turns = 0;
    let isWorking = true;
    const count = () => {
      turns++;
      if (isWorking) setImmediate(count);
    };
    setImmediate(count);
    const packed = await packPolygons([[ring]]);
    const packedAfter = turns;
    const kept = { declared: area.digest, srs: 4326, ...packed, updatedAt: 0, error: null };
    await areas.take('zones', kept);
    isWorking = false;
    expect(packedAfter).toBeGreaterThanOrEqual(MIN_TURNS);
    expect(turns - packedAfter).toBeGreaterThanOrEqual(MIN_TURNS);
    const shape = areas.shapeOf(area);
    expect(shape.polygons[0]?.[0]?.at(-1)).toEqual(ring.at(-1));
    expect(shape).toMatchObject({ points: POINTS, bounds: { minX: -10, maxX: 10, minY: -5, maxY: 5 } });
    expect(areas.kept(area)).toEqual(kept);
    expect(areas.kept({ ...area, digest: 'another' })).toBeNull();
  });
});
