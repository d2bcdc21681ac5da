import type { Encoding } from '../domain/format.ts';
import type { CutGrid } from './decode-image.ts';

export type Picture =
  | { readonly kind: 'encoded'; readonly bytes: Buffer; readonly mediaType: string | null }
  /** RGBA. */
  | { readonly kind: 'pixels'; readonly pixels: Buffer; readonly width: number; readonly height: number }
  /** An empty picture. */
  | { readonly kind: 'nothing' };

export interface CutJob {
  readonly picture: Picture;
  readonly grid: CutGrid;
  readonly format: Encoding;
}

export interface CutTile {
  readonly bytes: Buffer;
  /** The colour of all pixels, 0xAABBGGRR; null if there are several. */
  readonly colour: number | null;
  /** CRC-32 of `bytes`. */
  readonly checksum: number;
}

/** Counts of each kind of work, by which tests check that none is repeated. */
export interface CutterCounts {
  decodes: number;
  /** JPEGs that were cut without decoding them to pixels. */
  cutJpegs: number;
  encodes: number;
  knownResponses: number;
  knownTiles: number;
}

/** Cuts a metatile into tiles. It is also the gate: it throws `source-bad-answer` for anything but the requested picture. */
export interface TileCutter {
  /** Returns the tiles row by row. */
  cut(job: CutJob): Promise<readonly CutTile[]>;
  close(): Promise<void>;
}
