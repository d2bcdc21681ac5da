import { endBits, startBits } from './bits';
import { adler32 } from './checksums';
import {
  startBlock,
  TOKENS_PER_BLOCK,
  takeLiteral,
  takeMatch,
  tokensTaken,
  writeBlock,
} from './deflate-block';

/** RFC 1951: lengths and distances of a match. */
const MAX_MATCH: i32 = 258;
const MIN_MATCH: i32 = 3;
const FIRST_THREE: u32 = 0xffffff;
const WINDOW: i32 = 32768;
/** A match this far back costs more bits than it saves when it is short. */
const MIN_FAR_MATCH: i32 = 5;
/** With a match of this many bytes no other is looked for. */
const LONG_ENOUGH: i32 = 16;
const HASH_BITS: u32 = 13;
const HASH_FACTOR: u32 = 0x9e3779b1;
/** Where four bytes of this hash stood last: an offset from the start, plus one. */
const LAST_SEEN: usize = memory.data(8192 * 4, 16);

/** Bytes of a pixel. */
let near: i32 = 0;
/** Bytes of a row. */
let above: i32 = 0;
/** Of the row that was looked at last. */
let rowStart: i32 = 0;
/** A match somewhere before is worth its distance from this length on. */
let shortestSought: i32 = 0;

/**
 * zlib's stream (RFC 1950) of a picture's rows, written to `to`; returns where it ends. What repeats the pixel before
 * or the row above is found, and what stood somewhere before. Reads eight bytes beyond the rows.
 */
export function deflate(from: usize, length: i32, pixelBytes: i32, rowBytes: i32, to: usize): usize {
  // A window of 32 KiB, no dictionary, the fastest method.
  store<u16>(to, 0x0178);
  startBits(to + 2);
  near = pixelBytes;
  above = rowBytes;
  rowStart = 0;
  // One byte of an index costs a few bits.
  shortestSought = pixelBytes === 1 ? 16 : 6;
  memory.fill(LAST_SEEN, 0, 1 << (HASH_BITS + 2));
  startBlock();
  takeAll(from, length);
  writeBlock(true);
  const end = endBits();
  store<u32>(end, bswap(adler32(from, length)));
  return end + 4;
}

function takeAll(from: usize, length: i32): void {
  for (let at = 0; at < length; ) {
    at += takeNext(from, at, min(MAX_MATCH, length - at));
    if (tokensTaken() < TOKENS_PER_BLOCK || at >= length) continue;
    writeBlock(false);
    startBlock();
  }
}

/** Takes the longest of up to three matches, or the bytes of one pixel; returns how many bytes that were. */
function takeNext(from: usize, at: i32, limit: i32): i32 {
  const here = from + at;
  let length = 0;
  let distance = near;
  if (at >= near && ((load<u32>(here) ^ load<u32>(here - near)) & FIRST_THREE) === 0) {
    length = sharedBytes(here, here - near, limit);
  }
  if (length < limit && at >= above && above <= WINDOW && load<u32>(here) === load<u32>(here - above)) {
    const found = sharedBytes(here, here - above, limit);
    if (found > length && found >= MIN_FAR_MATCH) {
      length = found;
      distance = above;
    }
  }
  // Within a run the same bytes stand everywhere: its start is what is to be found again.
  if (length < MIN_MATCH || (distance !== near && length < LONG_ENOUGH)) {
    const back = lastSeen(here, at);
    const isSame = back > 0 && load<u32>(here) === load<u32>(here - back);
    const found = isSame ? sharedBytes(here, here - back, limit) : 0;
    if (found > length && found >= shortestSought) {
      length = found;
      distance = back;
    }
  }
  if (length < MIN_MATCH) return takeLiterals(here, restOfPixel(at));
  takeMatch(length, distance);
  return length;
}

/** How far back the next four bytes stood last, probably; 0: nowhere. */
function lastSeen(here: usize, at: i32): i32 {
  const hash = (load<u32>(here) * HASH_FACTOR) >> (32 - HASH_BITS);
  const place = LAST_SEEN + ((<usize>hash) << 2);
  const back = at + 1 - load<i32>(place);
  store<i32>(place, at + 1);
  return back <= at && back <= WINDOW ? back : 0;
}

/** A row begins with one byte of its own. */
function restOfPixel(at: i32): i32 {
  if (near === 1) return 1;
  while (at - rowStart >= above) rowStart += above;
  const column = at - rowStart;
  if (column === 0) return 1;
  // Dividing takes long; by three it is done by multiplying.
  const part = column - 1;
  return near === 4 ? 4 - (part & 3) : near - (part - 3 * ((part * 43691) >> 17));
}

/** A pixel that differs from its neighbours differs as a whole: its other bytes are not looked at again. */
function takeLiterals(here: usize, count: i32): i32 {
  for (let i = 0; i < count; i++) takeLiteral(load<u8>(here + i));
  return count;
}

function sharedBytes(a: usize, b: usize, limit: i32): i32 {
  let length = 0;
  while (length < limit) {
    const difference = load<u64>(a + length) ^ load<u64>(b + length);
    if (difference !== 0) return min(limit, length + <i32>(ctz(difference) >> 3));
    length += 8;
  }
  return limit;
}
