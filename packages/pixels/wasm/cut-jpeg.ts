import { MARGIN, pagesUpTo, START } from './areas';
import {
  endTile,
  FACTORS,
  isBeyond,
  isFlat,
  isReadUpTo,
  POINT,
  resumeTile,
  STATE_BYTES,
  STEPS,
  savedDc,
  saveTile,
  startReading,
  startTile,
  takeBlock,
  writtenTo,
} from './jpeg-block';
import { copyStuffed, takeStuffingOut } from './jpeg-stuffing';

// Cuts the scan of a JPEG into the scans of its tiles. A group of blocks (the standard's MCU) is 16 × 16 pixels.

/** Four of luma, one of each chroma. */
const BLOCKS_OF_GROUP: i32 = 6;
/** Two bytes for each of the 64 coefficients is more than any photograph takes. */
const TILE_BYTES_PER_BLOCK: usize = 128;
/** A coefficient takes at most 27 bits: a code of 16 and 11 of its own. */
const MAX_BYTES_OF_GROUP: usize = 6 * 64 * 4;
/** A damaged scan is detected only at the end of a row of groups: until then, reading may go this far beyond it. */
const READ_BEYOND: usize = 65536;

export let JPEG_INPUT: usize = START;
let states: usize = 0;
let output: usize = 0;
let tileBytes: usize = 0;
/** Where `layTile` writes a tile's finished scan. */
export let JPEG_FILE: usize = 0;
let bad: bool = false;

/** Lays out the memory, the input first. False if there is not enough. */
export function reserveJpeg(inputBytes: usize, tiles: usize, tileWidth: usize, tileHeight: usize): bool {
  JPEG_INPUT = START;
  states = (JPEG_INPUT + inputBytes + MARGIN) & ~15;
  output = (states + tiles * STATE_BYTES + MARGIN) & ~15;
  const groups = (tileWidth >> 4) * (tileHeight >> 4);
  tileBytes = groups * BLOCKS_OF_GROUP * TILE_BYTES_PER_BLOCK + (tileWidth >> 4) * MAX_BYTES_OF_GROUP;
  JPEG_FILE = output + tiles * tileBytes;
  return pagesUpTo(JPEG_FILE + 2 * tileBytes + READ_BEYOND);
}

/** Cuts the scan of `length` bytes in the input, requantizing by `FACTORS`. False for any damage in the scan. */
export function cutJpeg(length: i32, columns: i32, rows: i32, across: i32, down: i32, gutter: i32): bool {
  const plain = takeStuffingOut(JPEG_INPUT, length);
  if (plain < 0) return false;
  // A truncated scan reads as zeros behind its end.
  memory.fill(JPEG_INPUT + plain, 0, MARGIN);
  bad = false;
  startReading(JPEG_INPUT);
  // The state for groups outside all tiles, of which nothing is kept.
  startTile(JPEG_FILE);
  const height = rows * down;
  for (let y = -gutter; y < height + gutter; y++) {
    skipGroups(gutter);
    if (y < 0 || y >= height) skipGroups(columns * across);
    else takeRow(y, columns, across, down);
    skipGroups(gutter);
    if (bad || isBeyond(JPEG_INPUT + plain)) return false;
  }
  return isReadUpTo(JPEG_INPUT + plain);
}

/** Groups outside all tiles are decoded too: the DC of the blocks behind them is a difference from theirs. */
function skipGroups(groups: i32): void {
  for (let i = 0; i < groups && !bad; i++) takeGroup(false);
}

function takeRow(y: i32, columns: i32, across: i32, down: i32): void {
  for (let column = 0; column < columns && !bad; column++) {
    const tile = (y / down) * columns + column;
    if (y % down === 0) startTile(startOf(tile));
    else resumeTile(stateOf(tile));
    for (let x = 0; x < across && !bad; x++) takeGroup(true);
    if (writtenTo() > startOf(tile) + tileBytes - <usize>across * MAX_BYTES_OF_GROUP) bad = true;
    saveTile(stateOf(tile));
  }
}

function startOf(tile: i32): usize {
  return output + <usize>tile * tileBytes;
}

function stateOf(tile: i32): usize {
  return states + <usize>tile * STATE_BYTES;
}

/** Writes the scan of a tile and the end of the file to `JPEG_FILE`; returns the length of both. */
export function layTile(tile: i32): i32 {
  const state = stateOf(tile);
  resumeTile(state);
  endTile();
  const start = startOf(tile);
  return <i32>(copyStuffed(start, <i32>(writtenTo() - start), JPEG_FILE) - JPEG_FILE);
}

/** The colour of a tile of one colour, 0xAABBGGRR; 0 for other tiles. */
export function tileColour(tile: i32): u32 {
  const state = stateOf(tile);
  if (!isFlat(state)) return 0;
  return colourOf(flatValue(state, 0, 0), flatValue(state, 1, 1), flatValue(state, 2, 1));
}

/** A tile's DC times the tiles' step, which is the file's step divided by its factor; DC is eight times the mean. */
function flatValue(state: usize, component: usize, table: usize): f32 {
  const left = <f32>load<u32>(FACTORS + (table << 8)) / <f32>(1 << POINT);
  return (<f32>savedDc(state, component) * (load<f32>(STEPS + (table << 8)) / left)) / 8;
}

function takeGroup(isWritten: bool): void {
  for (let block = 0; block < BLOCKS_OF_GROUP && !bad; block++) {
    if (!takeBlock(block < 4 ? 0 : block - 3, isWritten)) bad = true;
  }
}

/** JFIF 1.02: RGB from luma and chroma, each centred on zero. */
function colourOf(luma: f32, blue: f32, red: f32): u32 {
  const r = channel(luma + 1.402 * red);
  const g = channel(luma - 0.344136 * blue - 0.714136 * red);
  const b = channel(luma + 1.772 * blue);
  return 0xff000000 | (b << 16) | (g << 8) | r;
}

function channel(value: f32): u32 {
  return <u32>max<f32>(0, min<f32>(255, nearest<f32>(value + 128)));
}
