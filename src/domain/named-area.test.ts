import { describe, expect, it } from 'vitest';
import { createNamedArea } from './named-area.ts';

const RING = [
  [4, 50],
  [7, 50],
  [7, 53],
  [4, 50],
];
const POLYGON = { type: 'Polygon', coordinates: [RING] };

describe('a named area', () => {
  it.each([
    { geojson: POLYGON },
    { geojson: { type: 'Feature', geometry: POLYGON } },
    { geojson: { type: 'FeatureCollection', features: [{ type: 'Feature', geometry: POLYGON }] } },
    { geojson: { type: 'MultiPolygon', coordinates: [[RING]] } },
    { wkt: 'POLYGON ((4 50, 7 50, 7 53, 4 50))' },
    { wkt: 'multipolygon(((4 50,7 50,7 5.3e1,4 50)))' },
    { wkt: 'POLYGON Z ((4 50 0, 7 50 0, 7 53 0, 4 50 0))' },
  ])('an area is the same in every notation: %#', (shape) => {
    const area = createNamedArea('a', 4326, shape);
    expect(area).toMatchObject({ points: 4, bounds: { minX: 4, minY: 50, maxX: 7, maxY: 53 } });
    expect(area.digest).toBe(createNamedArea('b', 4326, { geojson: POLYGON }).digest);
  });

  it.each([
    [4326, { geojson: { type: 'Point', coordinates: [1, 2] } }, /must be GeoJSON/],
    [4326, { geojson: { type: 'Polygon', coordinates: [[[1, 2]]] } }, /at least three points/],
    [4326, { geojson: { type: 'Polygon', coordinates: [[[1, 'x']]] } }, /two numbers/],
    [4326, { geojson: { type: 'FeatureCollection', features: [] } }, /has no polygons/],
    [4326, { wkt: 'POINT (1 2)' }, /must be WKT/],
    [4326, { wkt: 'POLYGON ((1 2, 3 4' }, /must be WKT/],
    [4326, { wkt: 'POLYGON ((500000 5700000, 1 2, 3 4))' }, /is not in EPSG:4326/],
    [999_999, { geojson: POLYGON }, /CRS EPSG:999999 is not known/],
  ])('an area that cannot be used is refused: %#', (srs, shape, message) => {
    expect(() => createNamedArea('a', srs, shape)).toThrow(message);
  });
});
