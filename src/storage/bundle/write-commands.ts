import type { TileSetKey } from '../../domain/tile-key.ts';
import type { TileRect } from '../../domain/tile-rect.ts';
import type { TileEdit, TileWrite } from '../tile-store.ts';
import { bundleIndexOf, keyOfTile } from './bundle-grid.ts';
import { type BundleAddress, bundleFolder } from './bundle-layout.ts';

/** A tile of a put; its bytes are in the message's `bytes`, after those of the tile before it. */
interface TileSlot extends Required<Omit<TileWrite, 'bytes'>> {
  readonly length: number;
}

export interface PutCommand {
  readonly set: TileSetKey;
  readonly z: number;
  readonly ticket: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly slots: readonly TileSlot[];
  readonly bytes: Uint8Array;
}

export interface EditCommand extends Omit<BundleAddress, 'folder'> {
  readonly rect: TileRect;
  readonly edit: TileEdit;
}

export interface KeyedTile extends Omit<TileSlot, 'x' | 'y' | 'length'> {
  readonly key: number;
  readonly bytes: Uint8Array;
}

interface BundleBatch {
  readonly address: BundleAddress;
  readonly tiles: KeyedTile[];
}

/** One buffer of its own for all tiles, so that it can be handed to another thread without a further copy. */
export function packTiles(tiles: readonly TileWrite[]): {
  slots: TileSlot[];
  bytes: Uint8Array<ArrayBuffer>;
} {
  const slots = tiles.map(
    ({ x, y, createdAt, freshUntil = null, validator = null, madeBy = null, bytes }) => ({
      x,
      y,
      createdAt,
      freshUntil,
      validator,
      madeBy,
      length: bytes.length,
    }),
  );
  const bytes = new Uint8Array(slots.reduce((total, slot) => total + slot.length, 0));
  let at = 0;
  for (const tile of tiles) {
    bytes.set(tile.bytes, at);
    at += tile.bytes.length;
  }
  return { slots, bytes };
}

export function groupByBundle(command: PutCommand, setFolder: string): BundleBatch[] {
  const batches = new Map<string, BundleBatch>();
  const { set, z } = command;
  let at = 0;
  for (const { x, y, length, ...times } of command.slots) {
    const [bundleX, bundleY] = [bundleIndexOf(x), bundleIndexOf(y)];
    const folder = bundleFolder(setFolder, z, bundleX, bundleY);
    const batch = batches.get(folder) ?? { address: { set, z, bundleX, bundleY, folder }, tiles: [] };
    batches.set(folder, batch);
    batch.tiles.push({ key: keyOfTile(x, y), ...times, bytes: command.bytes.subarray(at, at + length) });
    at += length;
  }
  return [...batches.values()];
}
