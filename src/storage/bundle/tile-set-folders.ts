import { type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import { type BundleLayout, tileSetFolder } from './bundle-layout.ts';

/** Working a folder's name out costs more than reading a tile, so the names asked for last are remembered. */
const MAX_REMEMBERED = 2000;

export function createTileSetFolders(layout: BundleLayout): (set: TileSetKey) => string {
  const remembered = new Map<string, string>();
  const byObject = new WeakMap<TileSetKey, string>();

  function folderOf(set: TileSetKey): string {
    const id = tileSetId(set);
    const known = remembered.get(id);
    if (known !== undefined) return known;
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    const folder = tileSetFolder(layout, set);
    remembered.set(id, folder);
    return folder;
  }

  return (set) => {
    const folder = byObject.get(set) ?? folderOf(set);
    byObject.set(set, folder);
    return folder;
  };
}
