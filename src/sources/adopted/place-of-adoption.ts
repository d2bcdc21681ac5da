import type { AdoptOptions } from './adopt-options.ts';

/** The key that says where it is, and the path. */
export function placeOfAdoption(options: AdoptOptions): readonly [key: 'file' | 'folder', path: string] {
  const { file, folder } = { file: undefined, folder: undefined, ...options };
  return file === undefined ? ['folder', folder ?? ''] : ['file', file];
}
