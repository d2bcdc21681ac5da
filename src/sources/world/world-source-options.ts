import type { z as Zod } from 'zod';
import type { SchemaKit } from '../../lib/schemas.ts';

const DEFAULT_THREADS = 1;
const MAX_THREADS = 16;

/** The built-in map. Each thread keeps its own copy of the data it has needed. */
export const worldSourceOptions = (kit: SchemaKit) => {
  const { z, whole } = kit;
  return z.strictObject({
    type: z.literal('world'),
    threads: whole(1, MAX_THREADS).default(DEFAULT_THREADS),
  });
};

export type WorldSourceOptions = Zod.output<ReturnType<typeof worldSourceOptions>>;
