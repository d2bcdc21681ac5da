import { z } from 'zod';
import { parseSize } from './size.ts';

/** Building blocks of many settings. */
export const text = z.string().min(1);
export const texts = z.array(text);
export const flag = z.boolean().default(false);

export function whole(least: number, most: number) {
  return z.int().min(least).max(most);
}

export const sizeSchema = z
  .union([z.int().min(0), z.string()])
  .refine((size) => typeof size === 'number' || parseSize(size) !== null, {
    error: 'must be a size such as 64 MiB, 1 GB or 1048576',
  })
  .describe('Bytes, or a number with a unit such as 64 MiB');

/** Of the options of each driver in a list. */
export type DriverSchemas<Drivers> = {
  [At in keyof Drivers]: Drivers[At] extends { readonly options: infer Schema } ? Schema : never;
};
