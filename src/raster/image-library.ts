import type sharp from 'sharp';

export type ImageLibrary = typeof sharp;

/** Loaded when it is first needed: who only cuts ordinary PNG has no use for its 30 MB and a tenth of a second. */
export async function imageLibrary(): Promise<ImageLibrary> {
  const { default: library } = await import('sharp');
  // It remembers operations in case they come again; ours never do.
  library.cache(false);
  return library;
}
