import { z } from 'zod';

export const storeSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('bundle') }),
  z.strictObject({ type: z.literal('memory') }),
]);
export const sourceSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('world') }),
  z.strictObject({
    type: z.literal('wms'),
    url: z.url(),
    layers: z.string(),
    user: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
    password: z.string().optional(),
  }),
]);
export const upstreamSchema = z.strictObject({ concurrency: z.int().optional() });

export type StoreSettings = z.output<typeof storeSchema>;
export type SourceSettings = z.output<typeof sourceSchema>;
export type UpstreamSettings = z.output<typeof upstreamSchema>;
