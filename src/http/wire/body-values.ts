import { z } from 'zod';
import { invalid } from '../../domain/errors.ts';
import type { TaskDraft } from '../../tasks/task-draft.ts';
import { geoJsonArea, polygonsOf } from './geo-json.ts';

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

type AreaFields = z.output<z.ZodObject<typeof AREA_FIELDS>>;

export function areaOf({ area, areaCrs }: AreaFields): TaskDraft['area'] {
  if (area) return { polygons: polygonsOf(area), crs: areaCrs ?? 'EPSG:4326' };
  if (areaCrs) throw invalid('areaCrs must come with area.');
  return undefined;
}
