import { z } from 'zod';

export const memoryStoreOptions = z
  .strictObject({
    type: z.literal('memory'),
    maxBytes: z
      .int()
      .positive()
      .optional()
      .describe(
        'Sum of the tiles it may hold; a write that would exceed it is refused. No limit when left out.',
      ),
  })
  .describe('Keeps tiles in the memory of the server process: gone at a restart, unseen by other processes.');

export type MemoryStoreOptions = z.infer<typeof memoryStoreOptions>;
