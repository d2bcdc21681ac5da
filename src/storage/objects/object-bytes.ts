import { createHash, randomBytes } from 'node:crypto';
import { type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import type { BytePlace } from '../bytes.ts';
import { type PackObject, type PackPlace, readPackObject, writePackHead } from '../pack-object.ts';
import { placesFrom } from '../pack-tiles.ts';
import type { ObjectStore } from './object-store.ts';

/** A tile set with its number in the index. */
export interface NumberedSet {
  readonly id: number;
  readonly set: TileSetKey;
}

/** An object of a pack. The objects of a pack have different numbers. */
export interface ObjectPlace extends PackPlace {
  readonly object: number;
}

/** Bytes of an object's number, which is random. If two in a pack are equal, the tiles' checksums detect it. */
const NUMBER_BYTES = 4;

export type ObjectBytes = ReturnType<typeof createObjectBytes>;

/** Tiles that are put into a pack together become an object, which is never changed. */
export function createObjectBytes(bucket: ObjectStore, prefix: string) {
  /** `<layer>/<grid set, format, parameters>/<number of the tile set>/<zoom>/<x>_<y>_<number>`. */
  function key({ id, set }: NumberedSet, { z, x, y, object }: ObjectPlace): string {
    const number = object.toString(16).padStart(2 * NUMBER_BYTES, '0');
    return `${prefix}${readableName(set.layer, [set.layer])}/${readableSetName(set)}/${id}/${z}/${x}_${y}_${number}`;
  }

  return {
    key,
    /** Stores the tiles of a record as an object; returns their places, in the same order. */
    async put(id: number, record: PackObject): Promise<readonly BytePlace[]> {
      const segment = randomBytes(NUMBER_BYTES).readUInt32BE();
      const head = writePackHead(record);
      const parts = record.tiles.map(({ bytes }) => bytes);
      const place = { ...record, object: segment };
      await bucket.put(key({ id, set: record.set }, place), Buffer.concat([head, ...parts]));
      const lengths = parts.map(({ length }) => length);
      return placesFrom(segment, head.length, lengths);
    },
    /** The object's tiles with a right checksum; null if it is missing, damaged, or of another place. */
    async get(numbered: NumberedSet, place: ObjectPlace): Promise<PackObject | null> {
      const bytes = await bucket.get(key(numbered, place));
      const read = bytes && readPackObject(bytes);
      const isHere = read?.z === place.z && read.x === place.x && read.y === place.y;
      return isHere && tileSetId(read.set) === tileSetId(numbered.set) ? read : null;
    },
  };
}

export interface ParsedKey extends ObjectPlace {
  readonly id: number;
}

/** Null if it is not the key of a pack. */
export function parseKey(prefix: string, key: string): ParsedKey | null {
  const match = /^[^/]+\/[^/]+\/(\d+)\/(\d+)\/(\d+)_(\d+)_([0-9a-f]{8})$/.exec(
    key.startsWith(prefix) ? key.slice(prefix.length) : '',
  );
  if (!match) return null;
  const [id = 0, z = 0, x = 0, y = 0] = match.slice(1, 5).map(Number);
  return { id, z, x, y, object: Number.parseInt(match[5] ?? '', 16) };
}

/** Enough for an administrator to recognise a name; the hash after it makes it unique. */
const READABLE_CHARACTERS = 40;
/** Hexadecimal digits: 80 bits. */
const HASH_DIGITS = 20;

/** The name of a tile set without its layer. */
function readableSetName({ gridSet, format, parametersId, incarnation = '' }: TileSetKey): string {
  const identity = [gridSet, format, parametersId];
  const all = incarnation === '' ? identity : [...identity, incarnation];
  return readableName(`${gridSet} ${format}`, all);
}

/** `topp:states` → `topp-states-…`: a path contains only a name's letters and digits. */
function readableName(readable: string, identity: readonly (string | null)[]): string {
  const slug = readable
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, READABLE_CHARACTERS);
  const hash = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, HASH_DIGITS);
  return `${slug}-${hash}`;
}
