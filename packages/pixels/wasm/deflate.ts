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
/** After a match of this many bytes, the hash table is not searched for a longer one. */
const LONG_ENOUGH: i32 = 16;
const HASH_BITS: u32 = 13;
const HASH_FACTOR: u32 = 0x9e3779b1;
/** By hash of four bytes: the offset of their last occurrence from the start, plus one. */
const LAST_SEEN: usize = memory.data(8192 * 4, 16);

/** Bytes of a pixel. */
let pixelStep: i32 = 0;
/** Bytes of a row. */
let rowStep: i32 = 0;
/** Offset of the row that was searched last. */
let rowStart: i32 = 0;
/** From this length on, a match found by hash is worth the bits of its distance. */
let minHashMatch: i32 = 0;

/**
 * Writes a picture's rows as a zlib stream (RFC 1950) to `to`; returns its end. Finds repetitions of the pixel before,
 * of the row above and, by hash, of earlier bytes. Reads up to eight bytes beyond the rows.
 */
export function deflate(from: usize, length: i32, pixelBytes: i32, rowBytes: i32, to: usize): usize {
  // A window of 32 KiB, no dictionary, the fastest method.
  store<u16>(to, 0x0178);
  startBits(to + 2);
  pixelStep = pixelBytes;
  rowStep = rowBytes;
  rowStart = 0;
  // Indexed pixels are cheap as literals, a few bits each, so a match must be longer to pay.
  minHashMatch = pixelBytes === 1 ? 16 : 6;
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

/** Takes the longest of up to three matches, or the bytes of one pixel; returns how many bytes it took. */
function takeNext(from: usize, at: i32, limit: i32): i32 {
  const here = from + at;
  let length = 0;
  let distance = pixelStep;
  if (at >= pixelStep && ((load<u32>(here) ^ load<u32>(here - pixelStep)) & FIRST_THREE) === 0) {
    length = sharedBytes(here, here - pixelStep, limit);
  }
  if (length < limit && at >= rowStep && rowStep <= WINDOW && load<u32>(here) === load<u32>(here - rowStep)) {
    const found = sharedBytes(here, here - rowStep, limit);
    if (found > length && found >= MIN_FAR_MATCH) {
      length = found;
      distance = rowStep;
    }
  }
  // Skipped within a run, where all pixels are equal: the hash table keeps pointing to the start of the run.
  if (length < MIN_MATCH || (distance !== pixelStep && length < LONG_ENOUGH)) {
    const back = findByHash(here, at);
    const isSame = back > 0 && load<u32>(here) === load<u32>(here - back);
    const found = isSame ? sharedBytes(here, here - back, limit) : 0;
    if (found > length && found >= minHashMatch) {
      length = found;
      distance = back;
    }
  }
  if (length < MIN_MATCH) return takeLiterals(here, restOfPixel(at));
  takeMatch(length, distance);
  return length;
}

/** The distance to the last four bytes of the same hash, 0 if none are in the window; and records these four. */
function findByHash(here: usize, at: i32): i32 {
  const hash = (load<u32>(here) * HASH_FACTOR) >> (32 - HASH_BITS);
  const place = LAST_SEEN + ((<usize>hash) << 2);
  const back = at + 1 - load<i32>(place);
  store<i32>(place, at + 1);
  return back <= at && back <= WINDOW ? back : 0;
}

/** Bytes up to the end of the pixel at `at`; 1 at a row's filter byte. */
function restOfPixel(at: i32): i32 {
  if (pixelStep === 1) return 1;
  while (at - rowStart >= rowStep) rowStart += rowStep;
  const column = at - rowStart;
  if (column === 0) return 1;
  // A multiplication replaces the slower division by three.
  const part = column - 1;
  return pixelStep === 4 ? 4 - (part & 3) : pixelStep - (part - 3 * ((part * 43691) >> 17));
}

/** The rest of an unmatched pixel becomes literals without another search: its bytes rarely match either. */
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
