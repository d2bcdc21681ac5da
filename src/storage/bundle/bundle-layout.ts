import { join } from 'node:path';
import { type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { readableName, readableSetName } from '../readable-name.ts';

/** Paths below the root of a bundle store. */
export interface BundleLayout {
  readonly layers: string;
  /** Dropped things on their way out. */
  readonly trash: string;
  /** Bundles that could not be read, for a day. */
  readonly damaged: string;
  /** Bundles that are being made and are not yet in their place. */
  readonly making: string;
  readonly generations: string;
  /** Open marks. */
  readonly marks: string;
  /** The last ticket that was given out. */
  readonly tickets: string;
  /** What every bundle holds. */
  readonly index: string;
}

/** A bundle and the place it has, or would have. */
export interface BundleAddress {
  readonly set: TileSetKey;
  readonly z: number;
  readonly bundleX: number;
  readonly bundleY: number;
  /** Holds the bundle's one file; may not exist. */
  readonly folder: string;
}

export function bundleLayout(root: string): BundleLayout {
  return {
    layers: join(root, 'layers'),
    trash: join(root, 'trash'),
    damaged: join(root, 'damaged'),
    making: join(root, 'making'),
    generations: join(root, 'generations.sqlite'),
    marks: join(root, 'marks'),
    tickets: join(root, 'tickets.sqlite'),
    index: join(root, 'index.sqlite'),
  };
}

export function layerFolder(layout: BundleLayout, layer: string): string {
  return join(layout.layers, readableName(layer, [layer]));
}

export function tileSetFolder(layout: BundleLayout, set: TileSetKey): string {
  return join(layerFolder(layout, set.layer), readableSetName(set));
}

export function bundleFolder(setFolder: string, z: number, bundleX: number, bundleY: number): string {
  return `${setFolder}/${z}/${bundleX}_${bundleY}`;
}

/** `[bundleX, bundleY]` of a bundle's folder name, null for any other name. */
export function parseBundleFolder(name: string): readonly [number, number] | null {
  const match = /^(\d+)_(\d+)$/.exec(name);
  return match ? [Number(match[1]), Number(match[2])] : null;
}

/** Making the name of a folder costs more than reading a tile, so recent names are remembered. */
const MAX_REMEMBERED = 2000;

export function createTileSetFolders(layout: BundleLayout): (set: TileSetKey) => string {
  const remembered = new Map<string, string>();
  const byObject = new WeakMap<TileSetKey, string>();
  return (set) =>
    getOrCreate(byObject, set, () => {
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      return getOrCreate(remembered, tileSetId(set), () => tileSetFolder(layout, set));
    });
}
