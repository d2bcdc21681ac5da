import { z } from 'zod';

/** What many settings are made of. */
export const text = z.string().min(1);
export const texts = z.array(text);
export const flag = z.boolean().default(false);

export function whole(least: number, most: number) {
  return z.int().min(least).max(most);
}
