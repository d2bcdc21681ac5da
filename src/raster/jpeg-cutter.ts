import { jpegHead, stepsOfQuality, USUAL_CODES } from './jpeg-file.ts';
import { type OrdinaryJpeg, readOrdinaryJpeg } from './ordinary-jpeg.ts';
import { coloursAlong, type PictureLook } from './picture-look.ts';
import { createPixelWork } from './pixel-work.ts';
import type { CutGrid } from './tile-cutter.ts';

export interface CutJpeg {
  /** Row by row; a number is the one colour of all pixels of a tile, as 0xAABBGGRR. */
  readonly tiles: readonly (Buffer | number)[];
  readonly look: PictureLook;
}

/** Pixels along a side of the groups of blocks that a file is made of. */
const GROUP = 16;
/** Of fixed-point numbers. */
const ONE = 2 ** 20;
const MOST_BYTES_OF_CODES = 16 + 256;

/**
 * Cuts a JPEG into JPEG tiles along its groups of blocks, without making pixels of it: numbers that are finer than
 * those of our quality become coarser, all others stay as they came, and nothing is lost a second time.
 */
export class JpegCutter {
  readonly #work = createPixelWork();
  readonly #ours: readonly [Uint8Array, Uint8Array];

  constructor(quality: number) {
    this.#ours = stepsOfQuality(quality);
  }

  /** Null when the picture cannot be cut so: it is unusual or damaged, or its tiles do not begin where groups do. */
  cut(bytes: Buffer, grid: CutGrid): CutJpeg | null {
    const { columns, rows, tileWidth, tileHeight, gutter } = grid;
    if ([tileWidth, tileHeight, gutter].some((length) => length % GROUP !== 0)) return null;
    const [width, height] = [columns * tileWidth, rows * tileHeight];
    const jpeg = readOrdinaryJpeg(bytes, width + 2 * gutter, height + 2 * gutter);
    if (!jpeg || !this.#load(jpeg, grid)) return null;
    const [across, down, frame] = [tileWidth / GROUP, tileHeight / GROUP, gutter / GROUP];
    if (this.#work.cutJpeg(jpeg.scan.length, columns, rows, across, down, frame) === 0) return null;
    const head = jpegHead(tileWidth, tileHeight, this.#stepsFor(jpeg));
    const tiles = Array.from({ length: columns * rows }, (_, tile) => this.#tile(tile, head));
    return { tiles, look: this.#look(tiles, width, height) };
  }

  /** The coarser of both. */
  #stepsFor({ steps: [luma, chroma] }: OrdinaryJpeg): [Uint8Array, Uint8Array] {
    const [ourLuma, ourChroma] = this.#ours;
    return [
      luma.map((step, i) => Math.max(step, ourLuma[i] ?? 0)),
      chroma.map((step, i) => Math.max(step, ourChroma[i] ?? 0)),
    ];
  }

  #load(jpeg: OrdinaryJpeg, { columns, rows, tileWidth, tileHeight }: CutGrid): boolean {
    const { scan, steps, codes } = jpeg;
    const work = this.#work;
    // Codes are handed over in the same place before.
    const inputBytes = Math.max(scan.length, MOST_BYTES_OF_CODES);
    if (work.reserveJpeg(inputBytes, columns * rows, tileWidth, tileHeight) === 0) return false;
    const input = work.jpegInput();
    for (const [table, code] of codes.entries()) {
      this.#bytesAt(input, code.length).set(code);
      if (work.learnToRead(table, input) === 0) return false;
    }
    for (const [table, code] of USUAL_CODES.entries()) {
      this.#bytesAt(input, code.length).set(code);
      work.learnToWrite(table, input);
    }
    for (const [table, wanted] of this.#stepsFor(jpeg).entries()) {
      const given = steps[table] ?? wanted;
      const at = table * given.length * 4;
      new Float32Array(work.memory.buffer, work.jpegSteps() + at, given.length).set(given);
      const factors = new Uint32Array(work.memory.buffer, work.jpegFactors() + at, given.length);
      for (const [i, step] of given.entries()) factors[i] = Math.round((ONE * step) / (wanted[i] ?? step));
    }
    this.#bytesAt(input, scan.length).set(scan);
    return true;
  }

  #tile(tile: number, head: Buffer): Buffer | number {
    const colour = this.#work.tileColour(tile) >>> 0;
    if (colour !== 0) return colour;
    const length = this.#work.layTile(tile);
    return Buffer.concat([head, this.#bytesAt(this.#work.jpegFile(), length)]);
  }

  #look(tiles: readonly (Buffer | number)[], width: number, height: number): PictureLook {
    const [first] = tiles;
    const colour = typeof first === 'number' && tiles.every((tile) => tile === first) ? first : null;
    const lines = new Uint32Array(this.#work.memory.buffer, this.#work.jpegEdges(), 2 * (width + height));
    const along = (start: number, count: number) => coloursAlong(count, (i) => lines[start + i] ?? 0);
    return {
      colour,
      edges: {
        top: along(0, width),
        bottom: along(width, width),
        left: along(2 * width, height),
        right: along(2 * width + height, height),
      },
    };
  }

  #bytesAt(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#work.memory.buffer, at, length);
  }
}
