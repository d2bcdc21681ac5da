import { readFileSync } from 'node:fs';
import type { ImagePart, RasterImage, Samples } from './image.ts';
import type { OrdinaryPng } from './ordinary-png.ts';

const PIXEL_BYTES = 4;

type Rgb = readonly [number, number, number];
type PixelRect = Readonly<Record<'minX' | 'minY' | 'maxX' | 'maxY', number>>;

/** One image in the memory of a WebAssembly instance: writes parts of it as PNG, and draws it on a canvas. */
export class Pixels {
  readonly #work = createPixelWork();
  #width = 0;
  #height = 0;
  #canvas = { width: 0, height: 0 };

  /** Memory of the instance. It grows with the largest image and does not shrink. */
  get bytes(): number {
    return this.#work.memory.buffer.byteLength;
  }

  /** A view of the image's pixels, valid until another image is loaded. */
  get samples(): Samples {
    const [width, height] = [this.#width, this.#height];
    const { buffer } = this.#work.memory;
    return {
      width,
      height,
      channels: 4,
      data: Buffer.from(buffer, this.#work.IMAGE.value, width * height * 4),
    };
  }

  load({ width, height, pixels }: RasterImage, tileWidth: number, tileHeight: number): void {
    this.#reserve(width, height, 0, 0, tileWidth, tileHeight);
    this.#bytesAt(this.#work.IMAGE.value, width * height * PIXEL_BYTES).set(pixels);
  }

  /** False if the rows are damaged or contain an unknown filter or palette index. */
  loadPng(png: OrdinaryPng, tileWidth: number, tileHeight: number): boolean {
    const { width, height, depth, colourType, palette, packed, rowsLength } = png;
    const length = packed.reduce((sum, part) => sum + part.length, 0);
    this.#reserve(width, height, rowsLength, length, tileWidth, tileHeight);
    let at = this.#work.PACKED.value;
    for (const part of packed) {
      this.#bytesAt(at, part.length).set(part);
      at += part.length;
    }
    if (this.#work.unpackRows(length, rowsLength) === 0) return false;
    this.#bytesAt(this.#work.PALETTE.value, palette.byteLength).set(new Uint8Array(palette.buffer));
    return this.#work.readRows(width, height, depth, colourType, palette.length) !== 0;
  }

  /** Begins a transparent canvas. Loading an image keeps it; beginning it discards the image. */
  startCanvas(width: number, height: number): void {
    if (this.#work.startCanvas(width * height) === 0) throw tooLarge(width, height);
    this.#canvas = { width, height };
  }

  /** Makes the image transparent where each channel differs by at most `tolerance` from a colour. */
  clearColour([red, green, blue]: Rgb, tolerance: number): void {
    this.#work.clearColour(this.#width * this.#height, red | (green << 8) | (blue << 16), tolerance);
  }

  /**
   * Draws the image on the canvas with its top left pixel at `left`, `top`, which may be outside. Changes only the
   * pixels of `inside` (bounds inclusive), which must be within both.
   */
  draw(left: number, top: number, inside: PixelRect, opacity: number): void {
    const { minX, minY, maxX, maxY } = inside;
    this.#work.drawImage(this.#width, this.#canvas.width, left, top, minX, minY, maxX, maxY, opacity);
  }

  /** A copy of the canvas. */
  drawn(): RasterImage {
    const { width, height } = this.#canvas;
    const pixels = this.#bytesAt(this.#work.CANVAS.value, width * height * PIXEL_BYTES);
    return { width, height, pixels: Buffer.from(pixels.slice().buffer) };
  }

  /** Numbers the colours of a part for the next calls and returns their count; 0 if there are more than 256. */
  index({ left, top, width, height }: ImagePart): number {
    return this.#work.indexColours(this.#place(left, top), this.#width, width, height);
  }

  /** A colour of the part that was indexed last, 0xAABBGGRR. */
  colourAt(index: number): number {
    return this.#work.colourAt(index) >>> 0;
  }

  /** Equal for parts of equal pixels. `colours`: the value that `index` has just returned for this part. */
  fingerprint({ left, top, width, height }: ImagePart, colours: number): string {
    if (colours > 0) this.#work.fingerprintOfIndexed(colours, width, height);
    else this.#work.fingerprintOfPart(this.#place(left, top), this.#width, width, height);
    return `${this.#work.firstHalf()} ${this.#work.secondHalf()}`;
  }

  /** A PNG with a palette of the part that was indexed last. */
  indexedPng({ width, height }: ImagePart, colours: number): Buffer {
    return this.#file(this.#work.writeIndexed(colours, width, height));
  }

  /** A PNG without a palette; RGB when every pixel is opaque. */
  trueColourPng({ left, top, width, height }: ImagePart): Buffer {
    return this.#file(this.#work.writeTrueColour(this.#place(left, top), this.#width, width, height));
  }

  #reserve(
    width: number,
    height: number,
    filtered: number,
    packed: number,
    tileWidth: number,
    tileHeight: number,
  ): void {
    if (this.#work.reserve(width * height, filtered, packed, tileWidth, tileHeight) === 0) {
      throw tooLarge(width, height);
    }
    this.#width = width;
    this.#height = height;
  }

  #place(left: number, top: number): number {
    return this.#work.IMAGE.value + (top * this.#width + left) * PIXEL_BYTES;
  }

  #file(length: number): Buffer {
    return Buffer.from(this.#bytesAt(this.#work.FILE.value, length));
  }

  #bytesAt(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#work.memory.buffer, at, length);
  }
}

function tooLarge(width: number, height: number): RangeError {
  return new RangeError(`There is no memory for ${width}×${height} pixels.`);
}

/** Addresses in the instance's memory; most move with each `reserve`. */
type Place = 'CANVAS' | 'IMAGE' | 'PACKED' | 'FILE' | 'PALETTE' | JpegPlace;
type JpegPlace = 'JPEG_INPUT' | 'JPEG_FILE' | 'STEPS' | 'FACTORS';

/** The exports of wasm/pixels.ts, which documents them. */
interface PixelWork extends Readonly<Record<Place, WebAssembly.Global>> {
  readonly memory: WebAssembly.Memory;
  reserve(
    imagePixels: number,
    filteredBytes: number,
    packedBytes: number,
    tileWidth: number,
    tileHeight: number,
  ): number;
  startCanvas(pixels: number): number;
  clearColour(pixels: number, colour: number, tolerance: number): void;
  drawImage(
    imageWidth: number,
    canvasWidth: number,
    left: number,
    top: number,
    minX: number,
    minY: number,
    maxX: number,
    maxY: number,
    opacity: number,
  ): void;
  unpackRows(packedBytes: number, filteredBytes: number): number;
  readRows(width: number, height: number, depth: number, colourType: number, colours: number): number;
  indexColours(pixels: number, stride: number, width: number, height: number): number;
  colourAt(index: number): number;
  fingerprintOfIndexed(colours: number, width: number, height: number): void;
  fingerprintOfPart(pixels: number, stride: number, width: number, height: number): void;
  firstHalf(): bigint;
  secondHalf(): bigint;
  writeIndexed(colours: number, width: number, height: number): number;
  writeTrueColour(pixels: number, stride: number, width: number, height: number): number;
  reserveJpeg(inputBytes: number, tiles: number, tileWidth: number, tileHeight: number): number;
  learnToRead(table: number, at: number): number;
  learnToWrite(table: number, at: number): void;
  cutJpeg(end: number, columns: number, rows: number, across: number, down: number, gutter: number): number;
  layTile(tile: number): number;
  tileColour(tile: number): number;
}

let compiled: WebAssembly.Module | null = null;

/** A new instance with its own memory. */
export function createPixelWork(): PixelWork {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('./pixels.wasm', import.meta.url)));
  return new WebAssembly.Instance(compiled).exports as unknown as PixelWork;
}
