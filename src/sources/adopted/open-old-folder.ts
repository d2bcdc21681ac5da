import type { OldCache, OldTile } from '../old-cache.ts';
import type { Adoption, FolderAdoptOptions } from './adopt-options.ts';
import { oldTilePaths } from './old-tile-paths.ts';
import { type OpenedFile, openRootedFolder } from './rooted-folder.ts';

/** Bytes; far more than any tile has. */
export const MAX_TILE_BYTES = 32 * 1024 ** 2;

export interface OldCacheOwner {
  readonly layer: string;
  /** Its first grid set. */
  readonly gridSet: string;
}

/** The folder is opened with the first tile, and may be missing before. */
export function openOldFolder(
  options: FolderAdoptOptions & Pick<Adoption, 'within'>,
  { layer, gridSet }: OldCacheOwner,
): OldCache {
  const folder = openRootedFolder(options);
  return {
    async read(request) {
      for (const path of oldTilePaths(options, request, layer, gridSet)) {
        const tile = await folder.read(path, wholeTile);
        if (tile) return tile;
      }
      return null;
    },
    async close() {},
  };
}

/** Null if the file is empty or shorter than expected. */
async function wholeTile({ size, changedAt, part }: OpenedFile): Promise<OldTile | null> {
  const bytes = size === 0 || size > MAX_TILE_BYTES ? null : await part(0, size);
  return bytes && { bytes, changedAt };
}
