/**
 * ArcGIS compact caches: a *bundle* holds 128 × 128 tiles of a level. In version 2 it begins with an index; in version 1 the
 * index is a file of its own, `.bundlx`, and each tile has its length before it.
 */
import type { TileIndex } from '../../domain/tile-key.ts';
import { type OldCache, type OldTile, tileThere } from '../old-cache.ts';
import type { Adoption } from './adopt-options.ts';
import { MAX_TILE_BYTES, type OldCacheOwner, type OpenedFile, openRootedFolder } from './rooted-folder.ts';
import { openTilePackage } from './tile-package.ts';

const SIDE = 128;
const RECORDS = SIDE * SIDE;

/** Version 2: the index follows the header; an entry has five bytes of offset and three of length. */
const HEADER_BYTES = 64;
const ENTRY_BYTES = 8;
const OFFSET_BYTES = 5;
const LENGTH_BYTES = 3;
const INDEX_BYTES = RECORDS * ENTRY_BYTES;
/** Offsets in this header: of the number of entries, and of the length of the index. */
const RECORDS_AT = 4;
const INDEX_BYTES_AT = 60;

/** Version 1: the index has a header, then an offset for each tile, column by column. */
const OLD_INDEX_HEADER_BYTES = 16;
const OLD_INDEX_RECORDS_AT = 8;
const OLD_BUNDLE_HEADER_BYTES = 60;
const OLD_LENGTH_BYTES = 4;

type CompactOptions = Extract<Adoption, { layout: 'arcgis-compact' }>;

/** A tile whose index entry points outside the file is absent. */
export function openCompactCache(options: CompactOptions, owner: OldCacheOwner): OldCache {
  const { file = '', folder: path, within } = options;
  const folder =
    path === undefined ? openTilePackage(file, within) : openRootedFolder({ folder: path, within });
  const counting = { ...options, gridSet: options.gridSet ?? owner.gridSet };
  return {
    async read(request) {
      const tile = tileThere(request, counting);
      if (!tile) return null;
      const bundle = bundlePath(tile);
      return folder.read(`${bundle}.bundle`, async (file) => {
        if (await hasIndex(file)) return tileByIndex(file, tile);
        const offset = await folder.read(`${bundle}.bundlx`, (index) => oldOffset(index, tile));
        return offset === null ? null : tileWithLength(file, offset);
      });
    },
    async close() {},
  };
}

/** `L09/R0080C0100`: the first row and column of the bundle. */
function bundlePath({ z, x, y }: TileIndex): string {
  const first = (n: number) => (n - (n % SIDE)).toString(16).padStart(4, '0');
  return `L${String(z).padStart(2, '0')}/R${first(y)}C${first(x)}`;
}

async function hasIndex(file: OpenedFile): Promise<boolean> {
  const header = await partWithin(file, 0, HEADER_BYTES);
  if (!header) return false;
  return header.readUInt32LE(RECORDS_AT) === RECORDS && header.readUInt32LE(INDEX_BYTES_AT) === INDEX_BYTES;
}

async function tileByIndex(file: OpenedFile, { x, y }: TileIndex): Promise<OldTile | null> {
  const at = HEADER_BYTES + ((y % SIDE) * SIDE + (x % SIDE)) * ENTRY_BYTES;
  const entry = await partWithin(file, at, ENTRY_BYTES);
  if (!entry) return null;
  const offset = entry.readUIntLE(0, OFFSET_BYTES);
  const length = entry.readUIntLE(OFFSET_BYTES, LENGTH_BYTES);
  return offset < HEADER_BYTES + INDEX_BYTES ? null : tileAt(file, offset, length);
}

async function oldOffset(index: OpenedFile, { x, y }: TileIndex): Promise<number | null> {
  const header = await partWithin(index, 0, OLD_INDEX_HEADER_BYTES);
  if (header?.readUInt32LE(OLD_INDEX_RECORDS_AT) !== RECORDS) return null;
  const at = OLD_INDEX_HEADER_BYTES + ((x % SIDE) * SIDE + (y % SIDE)) * OFFSET_BYTES;
  const entry = await partWithin(index, at, OFFSET_BYTES);
  return entry?.readUIntLE(0, OFFSET_BYTES) ?? null;
}

async function tileWithLength(file: OpenedFile, offset: number): Promise<OldTile | null> {
  if (offset < OLD_BUNDLE_HEADER_BYTES) return null;
  const length = await partWithin(file, offset, OLD_LENGTH_BYTES);
  return length && tileAt(file, offset + OLD_LENGTH_BYTES, length.readUInt32LE(0));
}

async function tileAt(file: OpenedFile, offset: number, length: number): Promise<OldTile | null> {
  if (length === 0 || length > MAX_TILE_BYTES) return null;
  const bytes = await partWithin(file, offset, length);
  return bytes && { bytes, changedAt: file.changedAt };
}

/** The length in a header is trusted only after it is compared with the file's size. */
async function partWithin(file: OpenedFile, offset: number, length: number): Promise<Buffer | null> {
  return offset + length > file.size ? null : file.part(offset, length);
}
