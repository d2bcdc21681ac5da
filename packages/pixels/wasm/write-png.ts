import { FILE, ROWS } from './areas';
import { crc32 } from './checksums';
import { colourAt, packRows } from './colours';
import { deflate } from './deflate';
import { channelsOf, filterRows, isDrawn, writePlainRows } from './true-colour';

/** PNG (third edition), table 12. */
const RGB: u8 = 2;
const INDEXED: u8 = 3;
const RGBA: u8 = 6;

/** Where the next chunk goes. */
let at: usize = 0;

/** Writes the rows of `indexColours` as a PNG with a palette; returns the file's length. */
export function writeIndexed(colours: i32, width: i32, height: i32): i32 {
  const depth = depthFor(colours);
  const rowBytes = packRows(width, height, depth);
  startFile(width, height, <u8>depth, INDEXED);
  writePalette(colours);
  return endFile(rowBytes * height, 1, rowBytes);
}

/** Writes RGB if every pixel is opaque, otherwise RGBA; returns the file's length. */
export function writeTrueColour(pixels: usize, stride: i32, width: i32, height: i32): i32 {
  const channels = channelsOf(pixels, stride, width, height);
  const drawn = isDrawn(pixels, stride, width, height);
  const rowBytes = writePlainRows(pixels, stride, width, height, channels);
  if (!drawn) filterRows(rowBytes, height, channels);
  startFile(width, height, 8, channels === 3 ? RGB : RGBA);
  return endFile(rowBytes * height, channels, rowBytes);
}

function depthFor(colours: i32): i32 {
  if (colours <= 2) return 1;
  if (colours <= 4) return 2;
  return colours <= 16 ? 4 : 8;
}

function startFile(width: i32, height: i32, depth: u8, colourType: u8): void {
  // The signature: 89 P N G CR LF 1A LF.
  store<u32>(FILE, 0x474e5089);
  store<u32>(FILE, 0x0a1a0a0d, 4);
  at = FILE + 8;
  const data = startChunk(0x49484452);
  putWord(data, width);
  putWord(data + 4, height);
  store<u8>(data + 8, depth);
  store<u8>(data + 9, colourType);
  // Compression and filter method 0, the only ones; not interlaced.
  store<u8>(data + 10, 0);
  store<u16>(data + 11, 0);
  endChunk(data + 13);
}

/** PLTE, and tRNS up to the last entry that is not opaque. */
function writePalette(colours: i32): void {
  let data = startChunk(0x504c5445);
  let translucent = 0;
  for (let i = 0; i < colours; i++) {
    const colour = colourAt(i);
    store<u8>(data + i * 3, <u8>colour);
    store<u8>(data + i * 3 + 1, <u8>(colour >> 8));
    store<u8>(data + i * 3 + 2, <u8>(colour >> 16));
    if (colour >> 24 !== 0xff) translucent = i + 1;
  }
  endChunk(data + colours * 3);
  if (translucent === 0) return;
  data = startChunk(0x74524e53);
  for (let i = 0; i < translucent; i++) store<u8>(data + i, <u8>(colourAt(i) >> 24));
  endChunk(data + translucent);
}

function endFile(length: i32, pixelBytes: i32, rowBytes: i32): i32 {
  endChunk(deflate(ROWS, length, pixelBytes, rowBytes, startChunk(0x49444154)));
  endChunk(startChunk(0x49454e44));
  return <i32>(at - FILE);
}

/** Returns the address of the chunk's data. */
function startChunk(type: u32): usize {
  putWord(at + 4, type);
  return at + 8;
}

function endChunk(end: usize): void {
  const length = <i32>(end - at - 8);
  putWord(at, length);
  putWord(end, crc32(at + 4, length + 4));
  at = end + 4;
}

function putWord(place: usize, value: u32): void {
  store<u32>(place, bswap(value));
}
