import { MARGIN, pagesUpTo, START } from './areas';
import {
  bitsAtHand,
  bitsHeld,
  bitsLeft,
  countHeld,
  endWriting,
  fill,
  fillSlowly,
  goOnReading,
  goOnWriting,
  hasMarker,
  isReadUpTo,
  leaveWriting,
  put,
  putWord,
  readingFrom,
  setWriting,
  startReading,
  startWriting,
  takeNumber,
  writtenTo,
} from './jpeg-bits';
import { codeOf, codesToWrite, QUICK_BITS, quickCodes, readSymbol } from './jpeg-codes';
import { colourOf, layEdge } from './jpeg-edges';

/** A group of blocks, 16 × 16 pixels: four of luma, one of each chroma. */
const GROUP: i32 = 16;
const BLOCKS_OF_GROUP: i32 = 6;
/** Tables: luma and chroma for the first number of a block, luma and chroma for the others. */
const AC: usize = 2;
const END_OF_BLOCK: u32 = 0;
const SIXTEEN_ZEROS: u32 = 0xf0;
/** Fixed-point numbers have so many bits behind the point. */
const POINT: u32 = 20;
/** What lies in the midst of two numbers becomes the smaller, which takes fewer bits and is as near. */
const HALF: u32 = (1 << 19) - 1;
/** Two bytes for each of the 64 numbers is more than any photograph takes. */
const TILE_BYTES_PER_BLOCK: usize = 128;
/** At worst a number takes 27 bits, and every byte of them is followed by a zero. */
const MOST_BYTES_OF_GROUP: usize = 6 * 64 * 7;
const LARGEST_DC: u32 = 11;
const LARGEST_AC: u32 = 10;

/** By place in a block's order, luma then chroma: the step of the file's numbers as f32, and what becomes of one in ours. */
export const STEPS: usize = memory.data(2 * 64 * 4, 16);
export const FACTORS: usize = memory.data(2 * 64 * 4, 16);
/** The place in its block of each number in the order of the file (ITU-T T.81, figure A.6). */
const ORDER: usize = memory.data<u8>([
  0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46,
  53, 60, 61, 54, 47, 55, 62, 63,
]);
/** What is known of a tile: 16 bytes of bits held, then first numbers of the last blocks, flatness, start and end. */
const STATE_BYTES: usize = 64;
const BLOCKS: usize = memory.data(6 * 256, 16);

let input: usize = START;
let states: usize = 0;
let edges: usize = 0;
let output: usize = 0;
let tileBytes: usize = 0;

/** First numbers of the last blocks, by component: in the file, and in the tile that is being written. */
const FIRSTS: usize = memory.data(3 * 4, 16);
const TILE_FIRSTS: usize = memory.data(3 * 4, 16);
/** Of the tile: whether no block differs from the first. Its first group is not compared with anything. */
let flat: bool = false;
let begun: i32 = 0;
let bad: bool = false;

export function jpegInput(): usize {
  return input;
}

export function jpegEdges(): usize {
  return edges;
}

/** Lays out the memory; the input comes first. False when there is not enough. */
export function reserveJpeg(inputBytes: usize, tiles: usize, tileWidth: usize, tileHeight: usize): bool {
  input = START;
  states = (input + inputBytes + MARGIN) & ~15;
  edges = states + tiles * STATE_BYTES;
  // Four sides of at most all tiles in a row.
  output = (edges + 2 * tiles * (tileWidth + tileHeight) * 4 + MARGIN) & ~15;
  const groups = (tileWidth >> 4) * (tileHeight >> 4);
  tileBytes = groups * BLOCKS_OF_GROUP * TILE_BYTES_PER_BLOCK + (tileWidth >> 4) * MOST_BYTES_OF_GROUP;
  return pagesUpTo(output + tiles * tileBytes);
}

/**
 * Cuts the scan of a JPEG, from the start of the input to the marker at `end`, into the scans of its tiles, with
 * coarser numbers where ours are. No pixel is looked at but those along the edges. False when the file is not perfect.
 */
export function cutJpeg(end: usize, columns: i32, rows: i32, across: i32, down: i32, gutter: i32): bool {
  bad = false;
  memory.fill(FIRSTS, 0, 12);
  startReading(input);
  const height = rows * down;
  for (let y = -gutter; y < height + gutter; y++) {
    passOver(gutter);
    if (y < 0 || y >= height) passOver(columns * across);
    else takeRow(y, columns, across, down, height);
    passOver(gutter);
    if (bad) return false;
  }
  return isReadUpTo(input + end);
}

/** Groups that belong to no tile are read all the same: what comes behind them counts from them. */
function passOver(groups: i32): void {
  for (let i = 0; i < groups && !bad; i++) takeGroup(false, 0);
}

function takeRow(y: i32, columns: i32, across: i32, down: i32, height: i32): void {
  const width = columns * across;
  for (let column = 0; column < columns && !bad; column++) {
    const tile = (y / down) * columns + column;
    if (y % down === 0) startTile(tile);
    else goOnWithTile(tile);
    for (let x = column * across; x < (column + 1) * across && !bad; x++) {
      const isEdge = y === 0 || y === height - 1 || x === 0 || x === width - 1;
      if (isEdge) memory.fill(BLOCKS, 0, 6 * 256);
      takeGroup(true, isEdge ? BLOCKS : 0);
      if (isEdge) layEdges(x, y, width, height);
    }
    if (writtenTo() > startOf(tile) + tileBytes - <usize>across * MOST_BYTES_OF_GROUP) bad = true;
    leaveTile(tile, (y + 1) % down === 0);
  }
}

function startOf(tile: i32): usize {
  return output + <usize>tile * tileBytes;
}

function startTile(tile: i32): void {
  startWriting(startOf(tile));
  memory.fill(TILE_FIRSTS, 0, 12);
  flat = true;
  begun = 0;
}

function goOnWithTile(tile: i32): void {
  const state = states + <usize>tile * STATE_BYTES;
  goOnWriting(state);
  memory.copy(TILE_FIRSTS, state + 16, 12);
  flat = load<i32>(state, 28) !== 0;
  begun = BLOCKS_OF_GROUP;
}

function leaveTile(tile: i32, isDone: bool): void {
  const state = states + <usize>tile * STATE_BYTES;
  leaveWriting(state);
  memory.copy(state + 16, TILE_FIRSTS, 12);
  store<i32>(state, flat ? 1 : 0, 28);
  if (isDone) store<u32>(state, <u32>endWriting(), 32);
}

export function tileStart(tile: i32): usize {
  return startOf(tile);
}

export function tileEnd(tile: i32): usize {
  return load<u32>(states + <usize>tile * STATE_BYTES, 32);
}

/** 0xAABBGGRR when all of the tile is of one colour; 0 otherwise. */
export function tileColour(tile: i32): u32 {
  const state = states + <usize>tile * STATE_BYTES;
  if (load<i32>(state, 28) === 0) return 0;
  return colourOf(
    flatValue(load<i32>(state, 16), 0),
    flatValue(load<i32>(state, 20), 1),
    flatValue(load<i32>(state, 24), 1),
  );
}

/** The step of the tiles' first numbers is the file's, divided by what is left of one. */
function flatValue(first: i32, table: usize): f32 {
  const step = load<f32>(STEPS + (table << 8)) / (<f32>load<u32>(FACTORS + (table << 8)) / <f32>(1 << POINT));
  return (<f32>first * step) / 8;
}

function takeGroup(isWritten: bool, kept: usize): void {
  for (let block = 0; block < BLOCKS_OF_GROUP && !bad; block++) {
    const place = kept === 0 ? 0 : kept + ((<usize>block) << 8);
    if (!takeBlock(block < 4 ? 0 : block - 3, isWritten, place)) bad = true;
  }
}

function takeBlock(component: usize, isWritten: bool, kept: usize): bool {
  const table: usize = component === 0 ? 0 : 1;
  fill();
  const size = readSymbol(table);
  if (size > LARGEST_DC) return false;
  const place = FIRSTS + (component << 2);
  const first = load<i32>(place) + (size === 0 ? 0 : takeNumber(size));
  store<i32>(place, first);
  if (kept !== 0) store<f32>(kept, <f32>first * load<f32>(STEPS + (table << 8)));
  if (isWritten && !writeFirst(component, table, first)) return false;
  return takeOthers(table, isWritten, kept);
}

function writeFirst(component: usize, table: usize, first: i32): bool {
  const magnitude = scaled(abs(first), FACTORS + (table << 8));
  const value = first < 0 ? -magnitude : magnitude;
  const place = TILE_FIRSTS + (component << 2);
  const difference = value - load<i32>(place);
  store<i32>(place, value);
  // The first of luma and of each chroma, at 0, 4 and 5, have nothing before them in their tile.
  const isFirst = begun < BLOCKS_OF_GROUP && (begun === 0 || begun >= 4);
  if (begun < BLOCKS_OF_GROUP) begun++;
  if (difference !== 0 && !isFirst) flat = false;
  const bits = 32 - clz(abs(difference));
  const code = codeOf(table, bits);
  if (code === 0) return false;
  const number = difference < 0 ? ~abs(difference) & ((1 << bits) - 1) : difference;
  put(((code >> 8) << bits) | number, (code & 0xff) + bits);
  return true;
}

function scaled(magnitude: i32, factor: usize): i32 {
  return <i32>((<u64>magnitude * load<u32>(factor) + HALF) >> POINT);
}

/** All numbers of a block but the first: they are most of a file. */
function takeOthers(table: usize, isWritten: bool, kept: usize): bool {
  const quickTable = quickCodes(AC + table);
  const codes = codesToWrite(AC + table);
  const factors = FACTORS + (table << 8);
  let from = readingFrom();
  let bits = bitsAtHand();
  let left = bitsLeft();
  let to = writtenTo();
  let held = bitsHeld();
  let count = countHeld();
  let zeros: u32 = 0;
  let lastWritten = 0;
  for (let k = 1; k < 64; k++) {
    if (left <= 32) {
      const word = load<u32>(from);
      if (hasMarker(word)) {
        goOnReading(from, bits, left);
        fillSlowly();
        from = readingFrom();
        bits = bitsAtHand();
        left = bitsLeft();
      } else {
        bits = (bits << 32) | bswap(word);
        left += 32;
        from += 4;
      }
    }
    const next = <u32>(bits >> <u64>(left - QUICK_BITS)) & ((1 << QUICK_BITS) - 1);
    let symbol = <u32>load<u16>(quickTable + ((<usize>next) << 1));
    if (symbol === 0) {
      goOnReading(from, bits, left);
      symbol = readSymbol(AC + table);
      left = bitsLeft();
    } else {
      left -= symbol >> 8;
      symbol &= 0xff;
    }
    const run = symbol >> 4;
    const size = symbol & 15;
    if (size === 0) {
      if (symbol === END_OF_BLOCK) break;
      if (symbol !== SIXTEEN_ZEROS || k > 48) return false;
      k += 15;
      zeros += 16;
      continue;
    }
    k += run;
    // Baseline has ten bits at most; what is not a symbol has more.
    if (k > 63 || size > LARGEST_AC) return false;
    // ITU-T T.81, F.2.2.1: the upper half of the numbers of a size is positive.
    left -= size;
    const mask = (1 << size) - 1;
    const number = <u32>(bits >> <u64>left) & mask;
    const isNegative = number >> (size - 1) === 0;
    const given = isNegative ? mask - number : number;
    if (kept !== 0) keep(kept, table, k, isNegative ? -(<i32>given) : <i32>given);
    zeros += run;
    const magnitude = (given * load<u32>(factors + (k << 2)) + HALF) >> POINT;
    if (magnitude === 0) {
      zeros++;
      continue;
    }
    lastWritten = k;
    if (!isWritten) continue;
    for (; zeros > 15; zeros -= 16) {
      const code = load<u32>(codes + (SIXTEEN_ZEROS << 2));
      held = (held << (<u64>(code & 0xff))) | (code >> 8);
      count += code & 0xff;
      if (count >= 32) {
        setWriting(to, held, count);
        putWord();
        to = writtenTo();
        count = countHeld();
      }
    }
    const bitsOf = 32 - clz(magnitude);
    const code = load<u32>(codes + (((zeros << 4) | bitsOf) << 2));
    if (code === 0) return false;
    const value = isNegative ? ~magnitude & ((1 << bitsOf) - 1) : magnitude;
    held = (held << (<u64>((code & 0xff) + bitsOf))) | ((code >> 8) << bitsOf) | value;
    count += (code & 0xff) + bitsOf;
    zeros = 0;
    if (count < 32) continue;
    count -= 32;
    const word = <u32>(held >> <u64>count);
    if (hasMarker(word)) {
      setWriting(to, held, count + 32);
      putWord();
      to = writtenTo();
    } else {
      store<u32>(to, bswap(word));
      to += 4;
    }
  }
  goOnReading(from, bits, left);
  if (!isWritten) return true;
  setWriting(to, held, count);
  if (lastWritten !== 0) flat = false;
  const code = load<u32>(codes + (END_OF_BLOCK << 2));
  if (lastWritten !== 63) put(code >> 8, code & 0xff);
  return true;
}

function keep(block: usize, table: usize, k: i32, value: i32): void {
  const place = block + ((<usize>load<u8>(ORDER + k)) << 2);
  store<f32>(place, <f32>value * load<f32>(STEPS + (table << 8) + (k << 2)));
}

function layEdges(x: i32, y: i32, width: i32, height: i32): void {
  const acrossBytes = (<usize>width * GROUP) << 2;
  const downBytes = (<usize>height * GROUP) << 2;
  const along = (<usize>x * GROUP) << 2;
  const below = (<usize>y * GROUP) << 2;
  if (y === 0) layEdge(BLOCKS, true, false, edges + along);
  if (y === height - 1) layEdge(BLOCKS, true, true, edges + acrossBytes + along);
  if (x === 0) layEdge(BLOCKS, false, false, edges + 2 * acrossBytes + below);
  if (x === width - 1) layEdge(BLOCKS, false, true, edges + 2 * acrossBytes + downBytes + below);
}
