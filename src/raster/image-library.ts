import type sharp from 'sharp';

export type ImageLibrary = typeof sharp;

/** Loaded when it is first needed: who only cuts ordinary PNG has no use for its 30 MB and a tenth of a second. */
export async function imageLibrary(): Promise<ImageLibrary> {
  return (await import('sharp')).default;
}
