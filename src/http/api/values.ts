/** Schemas of fields that several requests and responses of the API have. */
import { z } from 'zod';
import type { Area } from '../../domain/area-in-grid-set.ts';
import { boundsOf, type Polygon } from '../../domain/bounds.ts';
import { invalid } from '../../domain/errors.ts';
import { HOST_CLOSED_REASONS } from '../../domain/upstream-status.ts';

const ring = z.array(z.tuple([z.number(), z.number()], z.number())).min(3);
const polygon = z.array(ring).min(1);
const geometries = [
  z.object({ type: z.literal('Polygon'), coordinates: polygon }),
  z.object({ type: z.literal('MultiPolygon'), coordinates: z.array(polygon).min(1) }),
] as const;
const feature = z.object({ type: z.literal('Feature'), geometry: z.discriminatedUnion('type', geometries) });
const collection = z.object({ type: z.literal('FeatureCollection'), features: z.array(feature).min(1) });

/** RFC 7946. Foreign members are allowed (section 6.1). */
const geoJsonArea = z
  .discriminatedUnion('type', [...geometries, feature, collection])
  .describe('GeoJSON: Polygon, MultiPolygon, or features of these');

function areaPolygons(area: z.output<typeof geoJsonArea>): readonly Polygon[] {
  if (area.type === 'FeatureCollection') return area.features.flatMap(areaPolygons);
  if (area.type === 'Feature') return areaPolygons(area.geometry);
  const polygons = area.type === 'Polygon' ? [area.coordinates] : area.coordinates;
  return polygons.map((rings) => rings.map((points) => points.map(([x, y]) => [x, y] as const)));
}

export const name = z.string().min(1);
export const names = z.array(name).min(1);
export const zoom = z.int().min(0).max(30);
export const timeInBody = z.iso.datetime({
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

export const boundsInQuery = z
  .string()
  .transform((text) => text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part))))
  .refine((numbers) => bounds.safeParse(numbers).success, {
    error: 'must be four numbers, minX,minY,maxX,maxY with min not above max',
  })
  .transform((numbers) => boundsOf(bounds.parse(numbers)));

export const AREA_CRS = ['EPSG:4326', 'grid-set'] as const;
export const AREA_FIELDS = {
  area: geoJsonArea.exactOptional(),
  areaCrs: z
    .enum(AREA_CRS)
    .exactOptional()
    .describe('CRS of the coordinates of area; EPSG:4326, longitude first, when absent'),
};

/** In requests: a shape, or the name of an area. */
export const NAMED_AREA_FIELDS = {
  ...AREA_FIELDS,
  area: z
    .union([z.string().min(1), geoJsonArea])
    .exactOptional()
    .describe('GeoJSON: Polygon, MultiPolygon, or features of these; or the name of an area'),
};

/** In responses: ISO 8601, in UTC. */
export const time = z.iso.datetime();
export const count = z.number().describe('A whole number; beyond 2^53 its last digits are lost');
export const texts = z.array(z.string());
export const pair = z.tuple([z.number(), z.number()]);
export const areaShown = z.object({
  type: z.literal('MultiPolygon'),
  coordinates: z.array(z.array(z.array(z.tuple([z.number(), z.number()])))),
});
/** The shape is stored with it: the name may have another one later. */
export const areaName = z.string().nullable().describe('Of the declared area that `area` is the shape of');
export const tileSetName = { gridSet: z.string(), format: z.string(), parametersId: z.string().nullable() };
export const amount = { tiles: count, bytes: count };

export const upstreamExcerpt = z
  .object({
    status: z.number().int().nullable().describe('Of its HTTP response; null: there was none'),
    text: z.string().nullable().describe('Its first 300 characters, without markup and secrets'),
    address: z.string().nullable().describe('Of the request, without secrets'),
  })
  .nullable()
  .describe('What the map server sent instead of an image; null: the failure has another cause');
export const closedReason = z.enum(HOST_CLOSED_REASONS);

/** In queries, where every value is text. */
export const wholeNumber = (least: number, most = 999_999_999_999_999) =>
  z
    .string()
    .refine((text) => /^\d{1,15}$/.test(text) && Number(text) >= least && Number(text) <= most, {
      error: `must be a whole number from ${least} to ${most}`,
    })
    .transform(Number)
    .meta({ type: 'integer', minimum: least, maximum: most });
export const timeInQuery = z
  .string()
  .refine((text) => !Number.isNaN(Date.parse(text)), { error: 'must be a time such as 2026-01-31T12:00:00Z' })
  .transform((text) => Date.parse(text))
  .meta({ format: 'date-time' });
export const queryFlag = z.stringbool({ truthy: ['true'], falsy: ['false'], error: 'must be true or false' });

export type AreaFields = z.output<z.ZodObject<typeof AREA_FIELDS>>;

export function requestedArea({ area, areaCrs }: AreaFields): Area | undefined {
  if (area) return { polygons: areaPolygons(area), crs: areaCrs ?? 'EPSG:4326' };
  if (areaCrs) throw invalid('areaCrs must come with area.');
  return undefined;
}
