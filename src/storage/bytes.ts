import type { PackObject } from './pack-object.ts';

/** Where the bytes of a tile are. A place never refers to other bytes later. */
export interface BytePlace {
  /** A file of the tile set, or an object. */
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
}

/** The bytes of tiles on this machine. The index decides which of them are shown. */
export interface Bytes {
  /** The places of a record's tiles, in their order. Within the transaction that names them: they are there before any row says so. */
  put(set: number, record: PackObject): readonly BytePlace[];
  /** Null: some or all of them are missing. */
  get(set: number, place: BytePlace): Buffer | null;
  /** No row names them any longer. */
  free(set: number, segments: readonly number[]): void;
  close(): void;
}
