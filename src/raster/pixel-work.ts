import { readFileSync } from 'node:fs';

/** What wasm/pixels.ts exports; its comments say what each does. */
export interface PixelWork {
  readonly memory: WebAssembly.Memory;
  reserve(
    imagePixels: number,
    filteredBytes: number,
    packedBytes: number,
    tileWidth: number,
    tileHeight: number,
  ): number;
  imageArea(): number;
  packedArea(): number;
  unpackRows(packedBytes: number, filteredBytes: number): number;
  fileArea(): number;
  paletteArea(): number;
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
  jpegInput(): number;
  jpegEdges(): number;
  jpegSteps(): number;
  jpegFactors(): number;
  learnToRead(table: number, at: number): number;
  learnToWrite(table: number, at: number): void;
  cutJpeg(end: number, columns: number, rows: number, across: number, down: number, gutter: number): number;
  layTile(tile: number): number;
  jpegFile(): number;
  tileColour(tile: number): number;
}

let compiled: WebAssembly.Module | null = null;

/** With a memory of its own. */
export function createPixelWork(): PixelWork {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('./pixels.wasm', import.meta.url)));
  return new WebAssembly.Instance(compiled).exports as unknown as PixelWork;
}
