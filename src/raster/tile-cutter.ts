import type { Encoding } from '../domain/format.ts';
import type { CutGrid } from './decode-image.ts';

export type Picture =
  | { readonly kind: 'encoded'; readonly bytes: Buffer; readonly mediaType: string | null }
  /** RGBA. */
  | { readonly kind: 'pixels'; readonly pixels: Buffer; readonly width: number; readonly height: number }
  /** The picture is empty. */
  | { readonly kind: 'nothing' };

export interface CutJob {
  readonly picture: Picture;
  readonly grid: CutGrid;
  readonly format: Encoding;
}

export interface CutTile {
  readonly bytes: Buffer;
  /** 0xAABBGGRR when all pixels are of one colour; null otherwise. */
  readonly colour: number | null;
  /** CRC-32 of `bytes`. */
  readonly checksum: number;
}

/** Counts of each kind of work; tests check that nothing is done twice. */
export interface CutterCounts {
  decodes: number;
  /** JPEGs that were cut without decoding them to pixels. */
  cutJpegs: number;
  encodes: number;
  knownResponses: number;
  knownTiles: number;
}

/** Cuts a metatile into tiles. It is also the gate: anything but the requested picture is `source-bad-answer`. */
export interface TileCutter {
  /** Returns the tiles row by row. */
  cut(job: CutJob): Promise<readonly CutTile[]>;
  close(): Promise<void>;
}
