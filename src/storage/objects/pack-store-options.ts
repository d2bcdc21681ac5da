import { z } from 'zod';
import { sizeSchema, whole } from '../../lib/schemas.ts';

/** Options of everything in an object store. */
export const objectOptions = {
  timeoutSeconds: z.number().min(0.1).max(300).default(5).describe('How long one request may take'),
  connections: whole(1, 1024).default(50).describe('Concurrent requests to the store'),
};

/** Options of every store that keeps packs in an object store. */
export const packStoreOptions = {
  ...objectOptions,
  prefix: z
    .string()
    .max(256)
    .regex(/^([A-Za-z0-9._-]+\/)*$/, {
      error: "must be '' or names that each end with a slash, e.g. tiles/",
    })
    .default('')
    .describe('What the keys of all objects begin with'),
  cache: z
    .strictObject({ size: sizeSchema })
    .optional()
    .describe('Keeps copies of tiles on the disk of this machine, the most recently used up to this size'),
  sweepRequestsPerSecond: z
    .number()
    .positive()
    .default(10)
    .describe('Requests that remove unused objects; each removes up to 1,000'),
};

export type PackStoreOptions = z.infer<z.ZodObject<typeof packStoreOptions>>;
