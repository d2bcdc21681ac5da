import type { CutGrid } from './image.ts';
import { createPixelWork } from './pixels.ts';

/** Side in pixels of a group of blocks (the standard's MCU): the unit in which a scan can be cut. */
const GROUP = 16;
/** 1 as a fixed-point number; `POINT` in wasm/jpeg-block.ts. */
const ONE = 2 ** 20;
const MAX_BYTES_OF_CODES = 16 + 256;

/**
 * Cuts a JPEG into JPEG tiles along its groups of blocks, without decoding it to pixels. Coefficients are requantized
 * only where their step is finer than that of the wanted quality; all others are copied, so they lose nothing again.
 */
export class JpegCutter {
  readonly #work = createPixelWork();
  readonly #quality: number;
  #ours: readonly [Uint8Array, Uint8Array];

  constructor(quality: number) {
    this.#quality = quality;
    this.#ours = stepsOfQuality(quality);
  }

  /**
   * The tiles row by row; a number stands for a tile of one colour, 0xAABBGGRR. Null if the JPEG is unusual or
   * damaged, its tiles do not begin at a group of blocks, or its gutter differs by side.
   */
  cut(bytes: Buffer, grid: CutGrid, quality = this.#quality): (Buffer | number)[] | null {
    const { columns, rows, tileWidth, tileHeight } = grid;
    const { left: gutter, top, right, bottom } = grid.gutter;
    if ([top, right, bottom].some((side) => side !== gutter)) return null;
    if ([tileWidth, tileHeight, gutter].some((length) => length % GROUP !== 0)) return null;
    const [width, height] = [columns * tileWidth, rows * tileHeight];
    const jpeg = readOrdinaryJpeg(bytes, width + 2 * gutter, height + 2 * gutter);
    this.#ours = stepsOfQuality(quality);
    if (!jpeg || !this.#load(jpeg, grid)) return null;
    const [across, down, frame] = [tileWidth / GROUP, tileHeight / GROUP, gutter / GROUP];
    if (this.#work.cutJpeg(jpeg.scan.length, columns, rows, across, down, frame) === 0) return null;
    const head = jpegHead(tileWidth, tileHeight, this.#stepsFor(jpeg));
    return Array.from({ length: columns * rows }, (_, tile) => this.#tile(tile, head));
  }

  /** The coarser step of the file's and ours, by coefficient. */
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
    // The Huffman tables are passed through the same area, before the scan.
    const inputBytes = Math.max(scan.length, MAX_BYTES_OF_CODES);
    if (work.reserveJpeg(inputBytes, columns * rows, tileWidth, tileHeight) === 0) return false;
    const input = work.JPEG_INPUT.value;
    for (const [table, code] of codes.entries()) {
      this.#bytesAt(input, code.length).set(code);
      if (work.learnToRead(table, input) === 0) return false;
    }
    for (const [table, code] of USUAL_CODES.entries()) {
      this.#bytesAt(input, code.length).set(code);
      work.learnToWrite(table, input);
    }
    for (const [table, target] of this.#stepsFor(jpeg).entries()) {
      const source = steps[table] ?? target;
      const at = table * source.length * 4;
      new Float32Array(work.memory.buffer, work.STEPS.value + at, source.length).set(source);
      const factors = new Uint32Array(work.memory.buffer, work.FACTORS.value + at, source.length);
      for (const [i, step] of source.entries()) factors[i] = Math.round((ONE * step) / (target[i] ?? step));
    }
    this.#bytesAt(input, scan.length).set(scan);
    return true;
  }

  #tile(tile: number, head: Buffer): Buffer | number {
    const colour = this.#work.tileColour(tile) >>> 0;
    if (colour !== 0) return colour;
    const length = this.#work.layTile(tile);
    return Buffer.concat([head, this.#bytesAt(this.#work.JPEG_FILE.value, length)]);
  }

  #bytesAt(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#work.memory.buffer, at, length);
  }
}

/** ITU-T T.81, annex K.1: steps for luma and chroma at quality 50, row by row. */
const LUMA_STEPS = [
  16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22,
  29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103,
  121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];
const CHROMA_STEPS = [
  17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99,
  99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
  99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
];
/** Figure A.6: the place in its block of each coefficient, in the order of the file (zigzag). */
const ORDER = [
  0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46,
  53, 60, 61, 54, 47, 55, 62, 63,
];

/** Annex K.3: the number of codes of 1 to 16 bits, then their symbols. DC of luma, DC of chroma, AC of luma, AC of chroma. */
const USUAL_CODES: readonly Uint8Array[] = [
  '00010501010101010100000000000000000102030405060708090a0b',
  '00030101010101010101010000000000000102030405060708090a0b',
  '0002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa',
  '00020102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa',
].map((hex) => Buffer.from(hex, 'hex'));

/** Quantization steps in the order of the file, scaled as libjpeg does for a quality from 1 to 100. */
function stepsOfQuality(quality: number): [Uint8Array, Uint8Array] {
  const scale = quality < 50 ? Math.floor(5000 / quality) : 200 - 2 * quality;
  const stepsOf = (base: readonly number[]) =>
    Uint8Array.from(ORDER, (place) =>
      Math.min(255, Math.max(1, Math.floor(((base[place] ?? 0) * scale + 50) / 100))),
    );
  return [stepsOf(LUMA_STEPS), stepsOf(CHROMA_STEPS)];
}

/** The file up to the data of the scan. */
function jpegHead(width: number, height: number, [luma, chroma]: readonly [Uint8Array, Uint8Array]): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt16BE(height, 0);
  size.writeUInt16BE(width, 2);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    // JFIF 1.01, no pixel density, no thumbnail.
    segment(0xe0, Buffer.from('4a46494600010100000100010000', 'hex')),
    segment(0xdb, [0, ...luma]),
    segment(0xdb, [1, ...chroma]),
    segment(0xc0, [8, ...size, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]),
    ...[0x00, 0x01, 0x10, 0x11].map((id, i) => segment(0xc4, [id, ...(USUAL_CODES[i] ?? [])])),
    segment(0xda, [3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0]),
  ]);
}

function segment(kind: number, content: Iterable<number>): Buffer {
  const bytes = Buffer.from([...content]);
  const head = Buffer.from([0xff, kind, 0, 0]);
  head.writeUInt16BE(bytes.length + 2, 2);
  return Buffer.concat([head, bytes]);
}

/** A JPEG as nearly every map server writes it: one scan, eight bits, chroma at half the size. */
interface OrdinaryJpeg {
  /** Quantization steps of luma and of chroma, in the order of the file. */
  readonly steps: readonly [Uint8Array, Uint8Array];
  /** Huffman tables in the order of `USUAL_CODES`: counts, then symbols. */
  readonly codes: readonly Uint8Array[];
  /** The data of the scan, without the marker that ends the file. */
  readonly scan: Buffer;
}

interface Component {
  readonly id: number;
  readonly sampling: number;
  readonly steps: number;
}

/** ITU-T T.81, table B.1; JFIF and Adobe's segments. */
const START_OF_IMAGE = 0xffd8;
const END_OF_IMAGE = 0xffd9;
const BASELINE = 0xc0;
const CODES = 0xc4;
const STEPS = 0xdb;
const SCAN = 0xda;
const JFIF = 0xe0;
const ADOBE = 0xee;
const COMMENT = 0xfe;
/** Application segments that do not change a pixel: not the third, which holds colour profiles. */
const HARMLESS = new Set([JFIF, 0xe1, ...[3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15].map((n) => 0xe0 + n)]);
/** Sampling factors of 4:2:0: four blocks of luma to one of each chroma. */
const SAMPLINGS = [0x22, 0x11, 0x11];
const TABLE_LENGTH = 64;
/** Spectral selection and approximation of a baseline scan: coefficients 0 to 63, not progressive. */
const WHOLE_BLOCKS = [0, 63, 0];

/** Null for a file that is unusual, damaged or of another size: the caller leaves it to the image library. */
function readOrdinaryJpeg(bytes: Buffer, width: number, height: number): OrdinaryJpeg | null {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== START_OF_IMAGE) return null;
  if (bytes.readUInt16BE(bytes.length - 2) !== END_OF_IMAGE) return null;
  const steps = new Map<number, Uint8Array>();
  const codes = new Map<number, Uint8Array>();
  let components: readonly Component[] | null = null;
  let isLumaAndChroma = false;
  for (let at = 2; at + 4 <= bytes.length; ) {
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    if (bytes[at] !== 0xff || end > bytes.length) return null;
    const [kind = 0, content] = [bytes[at + 1], bytes.subarray(at + 4, end)];
    if (kind === SCAN) {
      if (!components || !(isLumaAndChroma || hasUsualNames(components))) return null;
      return scanOf(content, components, steps, codes, bytes.subarray(end, -2));
    }
    if (kind === BASELINE) components = components ? null : componentsOf(content, width, height);
    if (kind === BASELINE && !components) return null;
    if (kind === STEPS && !takeSteps(content, steps)) return null;
    if (kind === CODES && !takeCodes(content, codes)) return null;
    if (kind === ADOBE && content[11] !== 1) return null;
    isLumaAndChroma ||= kind === ADOBE || (kind === JFIF && content.toString('latin1', 0, 4) === 'JFIF');
    if (![BASELINE, STEPS, CODES, ADOBE, COMMENT].includes(kind) && !HARMLESS.has(kind)) return null;
    at = end;
  }
  return null;
}

/** A file without a JFIF or Adobe segment is taken for luma and chroma if its components are numbered 1, 2, 3. */
function hasUsualNames(components: readonly Component[]): boolean {
  return components.every(({ id }, i) => id === i + 1);
}

function componentsOf(content: Buffer, width: number, height: number): readonly Component[] | null {
  if (content.length !== 15 || content[0] !== 8 || content[5] !== 3) return null;
  if (content.readUInt16BE(1) !== height || content.readUInt16BE(3) !== width) return null;
  const components = [6, 9, 12].map((at) => {
    const [id = 0, sampling = 0, steps = 0] = content.subarray(at, at + 3);
    return { id, sampling, steps };
  });
  const [, blue, red] = components;
  const isUsual = components.every(({ sampling }, i) => sampling === SAMPLINGS[i]);
  return isUsual && blue?.steps === red?.steps ? components : null;
}

/** False for a truncated table, steps of 16 bits and steps of zero. */
function takeSteps(content: Buffer, steps: Map<number, Uint8Array>): boolean {
  for (let at = 0; at < content.length; at += 1 + TABLE_LENGTH) {
    const table = content.subarray(at + 1, at + 1 + TABLE_LENGTH);
    if (table.length < TABLE_LENGTH || (content[at] ?? 0) > 3 || table.includes(0)) return false;
    steps.set(content[at] ?? 0, table);
  }
  return true;
}

/** Reads the Huffman tables of a segment. Bit 4 of a table's id is set for AC. */
function takeCodes(content: Buffer, codes: Map<number, Uint8Array>): boolean {
  for (let at = 0; at < content.length; ) {
    const counts = content.subarray(at + 1, at + 17);
    const end = at + 17 + counts.reduce((sum, count) => sum + count, 0);
    if (counts.length < 16 || end > content.length) return false;
    codes.set(content[at] ?? 0, content.subarray(at + 1, end));
    at = end;
  }
  return true;
}

function scanOf(
  content: Buffer,
  components: readonly Component[],
  steps: ReadonlyMap<number, Uint8Array>,
  codes: ReadonlyMap<number, Uint8Array>,
  scan: Buffer,
): OrdinaryJpeg | null {
  if (content.length !== 10 || content[0] !== 3) return null;
  if (!WHOLE_BLOCKS.every((value, i) => content[7 + i] === value)) return null;
  if (!components.every(({ id }, i) => content[1 + 2 * i] === id) || content[4] !== content[6]) return null;
  const [luma = 0, chroma = 0] = [content[2], content[4]];
  const used = [luma >> 4, chroma >> 4, 16 | (luma & 15), 16 | (chroma & 15)].map((id) => codes.get(id));
  const [first, second] = components.map((component) => steps.get(component.steps));
  if (!first || !second) return null;
  const known = used.filter((table) => table !== undefined);
  return known.length === used.length ? { steps: [first, second], codes: known, scan } : null;
}
