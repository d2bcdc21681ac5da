import { z } from 'zod';

const DEFAULT_THREADS = 1;
const MAX_THREADS = 16;

/** The built-in map. Each thread keeps its own copy of the data it has needed. */
export const worldSourceOptions = z.strictObject({
  type: z.literal('world'),
  threads: z.int().min(1).max(MAX_THREADS).default(DEFAULT_THREADS),
});

export type WorldSourceOptions = z.infer<typeof worldSourceOptions>;
