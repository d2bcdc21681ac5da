import { existsSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { blockAt, type PackedRects, packedTouch, type TileRect } from '../../domain/tile-rect.ts';
import { hasCode } from '../../lib/error-code.ts';
import { BUNDLE_SIZE, bundleIndexOf, type ListedBundle } from './bundle-grid.ts';
import { bundleFolder, parseBundleFolder } from './bundle-layout.ts';

/** Up to this many bundles it is quicker to look for each than to list the folder they are in. */
const MAX_PROBED = 64;

/** The names of the folders in a folder; none when it does not exist. */
export async function* listFolders(folder: string): AsyncGenerator<string> {
  try {
    for await (const entry of await opendir(folder)) if (entry.isDirectory()) yield entry.name;
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

export async function* listLevels(setFolder: string): AsyncGenerator<number> {
  for await (const name of listFolders(setFolder)) if (/^\d+$/.test(name)) yield Number(name);
}

export async function* listBundles(setFolder: string, z: number): AsyncGenerator<ListedBundle> {
  for await (const name of listFolders(`${setFolder}/${z}`)) {
    const place = parseBundleFolder(name);
    if (place) yield { bundleX: place[0], bundleY: place[1] };
  }
}

/** Bundles that may hold tiles of `rect`. */
export async function* bundlesTouching(
  setFolder: string,
  z: number,
  rect: TileRect,
): AsyncGenerator<ListedBundle> {
  const [minX, maxX] = [bundleIndexOf(rect.minX), bundleIndexOf(rect.maxX)];
  const [minY, maxY] = [bundleIndexOf(rect.minY), bundleIndexOf(rect.maxY)];
  if ((maxX - minX + 1) * (maxY - minY + 1) <= MAX_PROBED) {
    for (let bundleY = minY; bundleY <= maxY; bundleY++)
      for (let bundleX = minX; bundleX <= maxX; bundleX++) yield { bundleX, bundleY };
    return;
  }
  for await (const bundle of listBundles(setFolder, z)) {
    const { bundleX, bundleY } = bundle;
    if (bundleX >= minX && bundleX <= maxX && bundleY >= minY && bundleY <= maxY) yield bundle;
  }
}

/**
 * Those with one of the parts that exist now: in one that is made later no tile is older than a generation that was raised
 * before.
 */
export async function* existingBundles(
  setFolder: string,
  z: number,
  rect: TileRect,
  parts?: PackedRects,
): AsyncGenerator<ListedBundle> {
  if (!existsSync(`${setFolder}/${z}`)) return;
  for await (const at of bundlesTouching(setFolder, z, rect)) {
    if (parts && !packedTouch(parts, blockAt(at.bundleX, at.bundleY, BUNDLE_SIZE))) continue;
    if (existsSync(bundleFolder(setFolder, z, at.bundleX, at.bundleY))) yield at;
  }
}
