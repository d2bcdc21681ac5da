import type { PackObject } from './pack-object.ts';

/** Where the bytes of a tile are stored. A place is never reused for other bytes. */
export interface BytePlace {
  /** The number of a file of the tile set, or of an object. */
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
}

export interface PutBytes {
  /** The places of each record's tiles, in their order. */
  readonly places: readonly (readonly BytePlace[])[];
  /** To be called in the transaction whose rows name the bytes. False: the bytes may soon be removed; put them again. */
  note(): boolean;
}

/** Stores the bytes of tiles on this machine. The index decides which of them readers see. */
export interface Bytes {
  /** To be called before a row names the bytes, so that a crash in between leaves only unused bytes. */
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
