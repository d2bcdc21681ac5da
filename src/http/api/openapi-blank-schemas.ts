import { z } from 'zod';
import { time } from './openapi-values.ts';

const zoom = z.number().int().min(0).max(30);
const crs = z.enum(['EPSG:4326', 'grid-set']);

export const blankAreaAnswer = z.object({
  id: z.number().int().nullable(),
  origin: z.enum(['configuration', 'interface']),
  gridSet: z.string().nullable(),
  zoomStart: zoom,
  zoomStop: zoom,
  area: z.unknown(),
  areaCrs: crs.nullable(),
  note: z.string(),
  createdBy: z.string().nullable(),
  createdAt: time.nullable(),
});

const blankSuspect = z.object({
  gridSet: z.string(),
  z: zoom,
  tiles: z.array(z.string()),
  bounds: z.array(z.number()),
  format: z.string(),
  parametersId: z.string().nullable(),
  at: time,
  times: z.number().int(),
  refused: z.boolean().describe('The source was failing: it was neither kept nor served'),
});

export const blankAreaListAnswer = z.object({
  layer: z.string(),
  everywhere: z.boolean(),
  areas: z.array(blankAreaAnswer),
  suspects: z.array(blankSuspect),
});
