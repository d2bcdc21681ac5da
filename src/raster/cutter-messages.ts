import type { CutJob, CutMetatile, CutTile } from './tile-cutter.ts';

export interface CutRequest {
  readonly id: number;
  readonly job: CutJob;
}

export type CutAnswer = { readonly id: number } & (
  | { readonly packed: PackedMetatile }
  /** As `errorCopier` writes it. */
  | { readonly failure: unknown }
);

/** The bytes of its tiles lie one behind the other. */
interface PackedMetatile extends Pick<CutMetatile, 'look'> {
  readonly bytes: Uint8Array;
  readonly slots: readonly (Omit<CutTile, 'bytes'> & { readonly length: number })[];
}

export function packMetatile({ tiles, look }: CutMetatile): PackedMetatile {
  const bytes = new Uint8Array(tiles.reduce((sum, tile) => sum + tile.bytes.length, 0));
  let at = 0;
  const slots = tiles.map((tile) => {
    bytes.set(tile.bytes, at);
    at += tile.bytes.length;
    return { length: tile.bytes.length, colour: tile.colour, checksum: tile.checksum };
  });
  return { bytes, slots, look };
}

/** Its tiles share one piece of memory: who keeps one of them for long keeps a copy. */
export function unpackMetatile({ bytes, slots, look }: PackedMetatile): CutMetatile {
  let at = bytes.byteOffset;
  const tiles = slots.map(({ length, colour, checksum }) => {
    at += length;
    return { bytes: Buffer.from(bytes.buffer, at - length, length), colour, checksum };
  });
  return { tiles, look };
}
