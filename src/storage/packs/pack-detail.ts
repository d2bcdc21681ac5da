import type { TileMaker, TileSetKey } from '../../domain/tile-key.ts';
import type { PackPlace } from '../pack-object.ts';
import { readableName, readableSetName } from '../readable-name.ts';

/** A tile's entry in the index. */
export interface PackedTile {
  /** Counts the tiles of a pack row by row. */
  readonly slot: number;
  /** Random part of the key of the object that holds it. */
  readonly object: number;
  readonly length: number;
  readonly createdAt: number;
  readonly freshUntil: number | null;
  readonly madeBy: TileMaker;
  readonly validator: string | null;
  /** Of its writer; 0 for tiles of version 0.2. */
  readonly ticket: number;
}

type Making = Pick<PackedTile, 'createdAt' | 'freshUntil' | 'madeBy' | 'validator' | 'ticket'>;

/** Raised when the form changes. */
const FORM = 2;
/** That of version 0.2, without tickets. */
const FIRST_FORM = 1;

/**
 * The tiles of one pack in few bytes. Nearly all packs are stored in one object and were made together, so both are written once:
 *
 *   form · objects · makings · bitmap of the slots that have a tile · of each tile: length, object?, making?
 *
 * Numbers have seven bits in a byte, the lowest first. Which object and making is said where there are several.
 */
export function writePackDetail(tiles: readonly PackedTile[], slots: number): Buffer {
  const objects = [...new Set(tiles.map(({ object }) => object))];
  const makings = new Map(tiles.map((tile) => [makingId(tile), tile as Making]));
  const makingIds = [...makings.keys()];
  const writer = new DetailWriter();
  writer.number(FORM);
  writer.number(objects.length);
  for (const object of objects) writer.object(object);
  writer.number(makings.size);
  for (const making of makings.values()) writer.making(making);
  writer.bitmap(new Set(tiles.map(({ slot }) => slot)), slots);
  for (const tile of tiles.toSorted((a, b) => a.slot - b.slot)) {
    writer.number(tile.length);
    if (objects.length > 1) writer.number(objects.indexOf(tile.object));
    if (makings.size > 1) writer.number(makingIds.indexOf(makingId(tile)));
  }
  return writer.finish();
}

export function readPackDetail(detail: Buffer, slots: number): PackedTile[] {
  const reader = new DetailReader(detail);
  const form = reader.number();
  if (form !== FORM && form !== FIRST_FORM)
    throw new RangeError(`A pack is described in form ${form}, which this version does not know.`);
  const objects = Array.from({ length: reader.number() }, () => reader.object());
  const makings = Array.from({ length: reader.number() }, () => {
    const making = reader.making(form);
    return { ...making, ticket: form === FIRST_FORM ? 0 : reader.number() };
  });
  return reader.bitmap(slots).map((slot) => {
    const length = reader.number();
    const object = objects[objects.length > 1 ? reader.number() : 0];
    const making = makings[makings.length > 1 ? reader.number() : 0];
    if (object === undefined || !making) throw new RangeError('The description of a pack is damaged.');
    return { slot, object, length, ...making };
  });
}

function makingId({ createdAt, freshUntil, madeBy, validator, ticket }: Making): string {
  return JSON.stringify([createdAt, freshUntil, madeBy, validator, ticket]);
}

class DetailWriter {
  readonly #bytes: number[] = [];

  number(value: number): void {
    let rest = Math.max(0, Math.round(value));
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#bytes.push((rest % 128) + 128);
    this.#bytes.push(rest);
  }

  /** Null is zero, and numbers begin at one. */
  optional(value: number | null | undefined): void {
    this.number(value === null || value === undefined ? 0 : value + 1);
  }

  /** Null is zero, negative numbers are even and others odd. */
  signed(value: number | null): void {
    this.number(value === null ? 0 : 2 * Math.abs(value) + (value < 0 ? 0 : 1));
  }

  object(value: number): void {
    const bytes = Buffer.alloc(OBJECT_BYTES);
    bytes.writeUIntBE(value, 0, OBJECT_BYTES);
    this.#bytes.push(...bytes);
  }

  making({ createdAt, freshUntil, madeBy, validator, ticket }: Making): void {
    this.number(createdAt);
    this.signed(freshUntil);
    this.optional(madeBy);
    const text = validator === null ? null : Buffer.from(validator);
    this.optional(text?.length);
    this.#bytes.push(...(text ?? []));
    this.number(ticket);
  }

  bitmap(slots: ReadonlySet<number>, count: number): void {
    const bytes = new Uint8Array(Math.ceil(count / 8));
    for (const slot of slots) bytes[slot >> 3] = (bytes[slot >> 3] ?? 0) | (1 << (slot & 7));
    this.#bytes.push(...bytes);
  }

  finish(): Buffer {
    return Buffer.from(this.#bytes);
  }
}

class DetailReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  number(): number {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = this.#bytes.readUInt8(this.#at++);
      value += (byte % 128) * unit;
      if (byte < 128) return value;
    }
  }

  optional(): number | null {
    const value = this.number();
    return value === 0 ? null : value - 1;
  }

  signed(): number | null {
    const value = this.number();
    if (value === 0) return null;
    return value % 2 === 0 ? -value / 2 : (value - 1) / 2;
  }

  object(): number {
    const value = this.#bytes.readUIntBE(this.#at, OBJECT_BYTES);
    this.#at += OBJECT_BYTES;
    return value;
  }

  making(form: number): Omit<Making, 'ticket'> {
    const createdAt = this.number();
    const freshUntil = form === FIRST_FORM ? this.optional() : this.signed();
    const madeBy = this.optional();
    const length = this.optional();
    if (length === null) return { createdAt, freshUntil, madeBy, validator: null };
    const validator = this.#bytes.toString('utf8', this.#at, this.#at + length);
    this.#at += length;
    return { createdAt, freshUntil, madeBy, validator };
  }

  bitmap(count: number): number[] {
    const start = this.#at;
    this.#at += Math.ceil(count / 8);
    const slots: number[] = [];
    for (let slot = 0; slot < count; slot++) {
      if (this.#bytes.readUInt8(start + (slot >> 3)) & (1 << (slot & 7))) slots.push(slot);
    }
    return slots;
  }
}

/** A tile set's place in the index: its key with the number of its row. */
interface IndexedSet {
  readonly id: number;
  readonly set: TileSetKey;
}

/** Bytes of the random part of a key: few enough to fit into a number exactly. */
export const OBJECT_BYTES = 6;
const OBJECT_DIGITS = OBJECT_BYTES * 2;

/** `<layer>/<grid set, format, parameters>/<number of the tile set>/<zoom>/<x>_<y>_<random>`. */
export function packKey(
  prefix: string,
  { id, set }: IndexedSet,
  { z, x, y }: PackPlace,
  object: number,
): string {
  const random = object.toString(16).padStart(OBJECT_DIGITS, '0');
  return `${prefix}${readableName(set.layer, [set.layer])}/${readableSetName(set)}/${id}/${z}/${x}_${y}_${random}`;
}

export interface ParsedKey extends PackPlace {
  readonly id: number;
  readonly object: number;
}

/** Null: no pack is called so. */
export function parsePackKey(prefix: string, key: string): ParsedKey | null {
  const match = /^[^/]+\/[^/]+\/(\d+)\/(\d+)\/(\d+)_(\d+)_([0-9a-f]{12})$/.exec(
    key.startsWith(prefix) ? key.slice(prefix.length) : '',
  );
  if (!match) return null;
  const [id = 0, z = 0, x = 0, y = 0] = match.slice(1, 5).map(Number);
  return { id, z, x, y, object: Number.parseInt(match[5] ?? '', 16) };
}
