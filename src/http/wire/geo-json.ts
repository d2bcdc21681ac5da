import { z } from 'zod';
import type { Polygon } from '../../domain/polygon.ts';

const ring = z.array(z.tuple([z.number(), z.number()], z.number())).min(3);
const polygon = z.array(ring).min(1);
const geometries = [
  z.object({ type: z.literal('Polygon'), coordinates: polygon }),
  z.object({ type: z.literal('MultiPolygon'), coordinates: z.array(polygon).min(1) }),
] as const;
const feature = z.object({ type: z.literal('Feature'), geometry: z.discriminatedUnion('type', geometries) });
const collection = z.object({ type: z.literal('FeatureCollection'), features: z.array(feature).min(1) });

/** RFC 7946. Members that it does not have may stand beside them (section 6.1). */
export const geoJsonArea = z
  .discriminatedUnion('type', [...geometries, feature, collection])
  .describe('GeoJSON: Polygon, MultiPolygon, or features of these');

export function polygonsOf(area: z.output<typeof geoJsonArea>): readonly Polygon[] {
  if (area.type === 'FeatureCollection') return area.features.flatMap(polygonsOf);
  if (area.type === 'Feature') return polygonsOf(area.geometry);
  const polygons = area.type === 'Polygon' ? [area.coordinates] : area.coordinates;
  return polygons.map((rings) => rings.map((points) => points.map(([x, y]) => [x, y] as const)));
}
