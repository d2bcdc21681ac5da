import type { PackObject } from './pack-object.ts';

/** Where the bytes of a tile are. A place never refers to other bytes later. */
export interface BytePlace {
  /** A file of the tile set, or an object. */
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
}

/** The bytes of tiles on this machine. The index decides which of them are shown, and names them only after they were put. */
export interface WritableBytes {
  /** Stores the tiles of a record; returns their places, in the same order. */
  put(set: number, record: PackObject): readonly BytePlace[];
  /** Null: some or all of them are missing. */
  get(set: number, place: BytePlace): Buffer | null;
  /** No row names them any longer. */
  free(set: number, segments: readonly number[]): void;
  /**
   * Within the transaction that names the new bytes; `noted` follows its commit. False: another process may be about to
   * remove them, so the caller puts its tiles again.
   */
  note(): boolean;
  noted(): void;
  /** The tile set is no longer in use. */
  leave(set: number): void;
  close(): void;
}
