import type { PackObject } from './pack-object.ts';

/** Where the bytes of a tile are. A place is never used for other bytes. */
export interface BytePlace {
  /** A file of the tile set, or an object. */
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
}

export interface PutBytes {
  /** The places of each record's tiles, in their order. */
  readonly places: readonly (readonly BytePlace[])[];
  /** Called in the transaction whose rows name the bytes. False: they may be about to be removed; put them again. */
  note(): boolean;
}

/** Stores the bytes of tiles on this machine. The index decides which of them are shown. */
export interface Bytes {
  /** Called before any row names the bytes: a crash in between leaves bytes that are never read. */
  put(set: number, records: readonly PackObject[]): PutBytes;
  close(): void;
}

/** Puts bytes in the transaction whose rows name them. */
export function putNoted(bytes: Pick<Bytes, 'put'>, set: number, records: readonly PackObject[]): PutBytes {
  for (;;) {
    const put = bytes.put(set, records);
    if (put.note()) return put;
  }
}
