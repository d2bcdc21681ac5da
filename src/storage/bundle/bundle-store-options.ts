import type { z as Zod } from 'zod';
import type { SchemaKit } from '../../lib/schemas.ts';

export const bundleStoreOptions = ({ z, whole }: SchemaKit) =>
  z
    .strictObject({
      type: z.literal('bundle'),
      maxOpenBundles: whole(4, 4096)
        .default(256)
        .describe(
          'Bundles kept open for reading, and as many at rest. Each takes one file descriptor, three while it is written to.',
        ),
      sweepBytesPerSecond: z
        .int()
        .positive()
        .default(512 * 1024 ** 2)
        .describe('How fast the space of dropped tiles is given back to the file system.'),
      minFreePercent: z
        .number()
        .min(0)
        .max(50)
        .default(2)
        .describe(
          'Storing stops, and tiles are served uncached, while less of the disk or of its inodes is free.',
        ),
    })
    .describe('Keeps tiles in SQLite files of at most 128 × 128 tiles below the data folder.');

export type BundleStoreOptions = Zod.infer<ReturnType<typeof bundleStoreOptions>>;
