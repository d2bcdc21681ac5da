import { z } from 'zod';
import { whole } from '../../lib/schemas.ts';

export const segmentStoreOptions = z
  .strictObject({
    type: z.literal('bundle'),
    maxOpenSegments: whole(4, 4096)
      .default(256)
      .describe('Segments kept open for reading by each process. Each takes one file descriptor.'),
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
  .describe('Keeps tiles in files below the data folder, with one index.');

export type SegmentStoreOptions = z.infer<typeof segmentStoreOptions>;
