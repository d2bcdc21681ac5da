import type { PackObject } from './pack-object.ts';

/** Where the bytes of a tile are. A place never refers to other bytes later. */
export interface BytePlace {
  /** A file of the tile set, or an object. */
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
}

export interface PutBytes {
  /** Of each record's tiles, in their order. */
  readonly places: readonly (readonly BytePlace[])[];
  /** Within the transaction that names them. False: they may be about to be removed, and have to be put again. */
  note(): boolean;
}

/** Stores the bytes of tiles on this machine. The index decides which of them are shown. */
export interface Bytes {
  /** Before any row names them: a crash in between leaves bytes that nothing refers to. */
  put(set: number, records: readonly PackObject[]): PutBytes;
  close(): void;
}

/** Puts them within the transaction that names them. */
export function putNoted(bytes: Pick<Bytes, 'put'>, set: number, records: readonly PackObject[]): PutBytes {
  for (;;) {
    const put = bytes.put(set, records);
    if (put.note()) return put;
  }
}
