import { z } from 'zod';
import type { Polygon } from '../../domain/bounds.ts';
import { invalid } from '../../domain/errors.ts';
import type { TaskDraft } from '../../tasks/task-draft.ts';

const ring = z.array(z.tuple([z.number(), z.number()], z.number())).min(3);
const polygon = z.array(ring).min(1);
const geometries = [
  z.object({ type: z.literal('Polygon'), coordinates: polygon }),
  z.object({ type: z.literal('MultiPolygon'), coordinates: z.array(polygon).min(1) }),
] as const;
const feature = z.object({ type: z.literal('Feature'), geometry: z.discriminatedUnion('type', geometries) });
const collection = z.object({ type: z.literal('FeatureCollection'), features: z.array(feature).min(1) });

/** RFC 7946. Members that it does not have may stand beside them (section 6.1). */
const geoJsonArea = z
  .discriminatedUnion('type', [...geometries, feature, collection])
  .describe('GeoJSON: Polygon, MultiPolygon, or features of these');

function polygonsOf(area: z.output<typeof geoJsonArea>): readonly Polygon[] {
  if (area.type === 'FeatureCollection') return area.features.flatMap(polygonsOf);
  if (area.type === 'Feature') return polygonsOf(area.geometry);
  const polygons = area.type === 'Polygon' ? [area.coordinates] : area.coordinates;
  return polygons.map((rings) => rings.map((points) => points.map(([x, y]) => [x, y] as const)));
}

/** What bodies of our own interface have in common. Nothing here takes null or an empty list for anything. */
export const name = z.string().min(1);
export const names = z.array(name).min(1);
export const zoom = z.int().min(0).max(30);
export const moment = z.iso.datetime({
  offset: true,
  error: 'must be a time such as 2026-01-31T12:00:00Z',
});
export const parameters = z.record(name, z.string());
export const flag = z.boolean().default(false);
export const bounds = z
  .tuple([z.number(), z.number(), z.number(), z.number()])
  .refine(([minX, minY, maxX, maxY]) => minX <= maxX && minY <= maxY, {
    error: 'must be minX, minY, maxX, maxY with min not above max',
  })
  .describe("minX, minY, maxX, maxY in the grid set's CRS");

export const AREA_CRS = ['EPSG:4326', 'grid-set'] as const;
export const AREA_FIELDS = {
  area: geoJsonArea.exactOptional(),
  areaCrs: z
    .enum(AREA_CRS)
    .exactOptional()
    .describe('What the coordinates of area are in; EPSG:4326, longitude first, when absent'),
};

export type AreaFields = z.output<z.ZodObject<typeof AREA_FIELDS>>;

export function areaOf({ area, areaCrs }: AreaFields): TaskDraft['area'] {
  if (area) return { polygons: polygonsOf(area), crs: areaCrs ?? 'EPSG:4326' };
  if (areaCrs) throw invalid('areaCrs must come with area.');
  return undefined;
}
