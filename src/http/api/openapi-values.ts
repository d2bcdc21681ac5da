import { z } from 'zod';

/** ISO 8601, in UTC. */
export const time = z.iso.datetime();
export const count = z.number().describe('A whole number; beyond 2^53 its last digits are lost');
export const names = z.array(z.string());
export const parameters = z.record(z.string(), z.string());
export const bounds = z.tuple([z.number(), z.number(), z.number(), z.number()]);
export const area = z.object({
  type: z.literal('MultiPolygon'),
  coordinates: z.array(z.array(z.array(z.tuple([z.number(), z.number()])))),
});
/** Fields that name a tile set of a layer. */
export const tileSetName = {
  gridSet: z.string(),
  format: z.string(),
  parametersId: z.string().nullable(),
};
