import { describe, expect, it } from 'vitest';
import { type AreaShape, bytesOf, packPolygons } from '../domain/area-shape.ts';
import { createReadArea, measure } from '../domain/named-area.ts';
import type { AreaPlacer } from '../domain/placed-area.ts';
import type { Point } from '../domain/projection.ts';
import { createAreas } from './areas.ts';
import type { CatalogEntries, CatalogEntry } from './catalog-entries.ts';
import { keepShape } from './kept-shapes.ts';
import { changedBoxes } from './read-area.ts';

const POINTS = 250_000;
const MIN_TURNS = 3;

function circle(points: number): readonly Point[] {
  return Array.from({ length: points }, (_, i): Point => {
    const angle = (2 * Math.PI * i) / points;
    return [10 * Math.cos(angle), 5 * Math.sin(angle)];
  });
}

/** Of a database. */
function createEntries(): Pick<CatalogEntries, 'get' | 'put'> {
  const kept = new Map<string, CatalogEntry>();
  return {
    get: async (_kind, name) => kept.get(name) ?? null,
    async put(change) {
      const entry = { ...change, version: 1, pendingCleanup: null };
      kept.set(change.name, entry);
      return entry;
    },
  };
}

describe('the shape of an area', () => {
  it('it is written to and read from the database in turns of the event loop', async () => {
    const area = createReadArea('zones', 4326, { file: '/zones.gpkg', table: 'zones' });
    const entries = createEntries();
    const placer = {} as AreaPlacer;
    const areas = createAreas(new Map([[area.name, area]]), entries, placer);
    let turns = 0;
    let isWorking = true;
    const count = () => {
      turns++;
      if (isWorking) setImmediate(count);
    };
    setImmediate(count);
    const { shape, digest, ...measured } = measure(4326, [[circle(POINTS)]]);
    const bytes = bytesOf(shape).length;
    await keepShape(entries, 'zones/0', shape);
    const writtenAfter = turns;
    const place = { declared: area.digest, slot: 'zones/0', shape: digest, bytes };
    const kept = { ...place, ...measured, updatedAt: 5, error: null };
    await areas.take('zones', kept);
    isWorking = false;
    expect(writtenAfter).toBeGreaterThanOrEqual(MIN_TURNS);
    expect(turns - writtenAfter).toBeGreaterThanOrEqual(MIN_TURNS);
    const { updatedAt, points, bounds } = areas.shapeOf(area);
    expect({ updatedAt, points, bounds, srs: 4326 }).toEqual({ ...measured, updatedAt: 5 });
    expect(areas.shapeOf(area)).toHaveProperty('placer', placer);
    expect(Buffer.compare(bytesOf(areas.shapeOf(area).shape), bytesOf(shape))).toBe(0);
    expect(areas.kept(area)).toEqual(kept);
    expect(areas.kept({ ...area, digest: 'another' })).toBeNull();
    await areas.take('zones', { ...kept, shape: 'of a newer one' });
    expect(areas.kept(area)).toEqual(kept);
  });

  it('only the part of a ring that has changed is in the boxes of a change', () => {
    const ring = circle(100);
    const moved = ring.map(([x, y], i): Point => (i === 50 ? [x - 1, y] : [x, y]));
    const others = circle(50).map(([x, y]): Point => [x + 30, y]);
    const packed = (...rings: readonly (readonly Point[])[]): AreaShape =>
      packPolygons(rings.map((points) => [points]));
    expect(changedBoxes(packed(ring, others), packed(moved, others))).toEqual([
      {
        minX: -11,
        maxX: expect.closeTo(-9.98, 2),
        minY: expect.closeTo(-0.31, 2),
        maxY: expect.closeTo(0.31, 2),
      },
    ]);
    expect(changedBoxes(packed(ring), packed(ring, others))).toEqual([
      expect.objectContaining({ minX: expect.closeTo(20), maxX: 40 }),
    ]);
  });
});
