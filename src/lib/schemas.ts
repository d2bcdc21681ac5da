import {
  array,
  boolean,
  int,
  literal,
  number,
  record,
  strictObject,
  string,
  tuple,
  union,
  url,
  z,
} from 'zod';
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

/** By name: the library as a whole would bring its messages in sixty languages into the build. */
const basic = { array, boolean, int, literal, number, record, strictObject, string, tuple, union, url };
const forDrivers = { ...basic, discriminatedUnion: z.discriminatedUnion, enum: z.enum };

/** Handed to drivers, which declare their options without loading the library: only what reads settings loads it. */
export const schemaKit = { z: forDrivers, text, texts, flag, whole, sizeSchema };
export type SchemaKit = typeof schemaKit;

/** Of the options of each driver in a list. */
export type DriverSchemas<Drivers> = {
  [At in keyof Drivers]: Drivers[At] extends { readonly options: (...kit: never) => infer Schema }
    ? Schema
    : never;
};
