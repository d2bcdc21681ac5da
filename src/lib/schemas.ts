import { z } from 'zod';

const UNITS: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** `64 MiB`, `1.5 GB` or a plain number of bytes; null when it is none of these. */
function parseSize(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = UNITS[match?.[2]?.toLowerCase() || 'b'];
  if (!match || unit === undefined) return null;
  const bytes = Math.round(Number(match[1]) * unit);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** Bytes of a size that the schema has accepted. */
export function sizeOf(size: number | string): number {
  return typeof size === 'number' ? size : (parseSize(size) ?? 0);
}

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

/** The options of each driver in a list. */
export type DriverSchemas<Drivers> = {
  [At in keyof Drivers]: Drivers[At] extends { readonly options: infer Schema } ? Schema : never;
};
