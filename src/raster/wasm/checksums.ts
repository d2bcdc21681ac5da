/** Largest number of bytes that Adler-32 sums up before 32 bits overflow (RFC 1950, as zlib has it). */
const ADLER_STRETCH: i32 = 5552;
const ADLER_BASE: u32 = 65521;
/** Eight tables of 256 words: the CRC of a byte with none to seven zero bytes behind it. */
const CRC_TABLES: usize = memory.data(8 * 256 * 4, 16);
let crcReady: bool = false;

function table(number: u32, byte: u32): u32 {
  return load<u32>(CRC_TABLES + (((number << 8) + (byte & 0xff)) << 2));
}

function prepareCrc(): void {
  crcReady = true;
  for (let byte: u32 = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >> 1) : crc >> 1;
    store<u32>(CRC_TABLES + (byte << 2), crc);
  }
  for (let at: u32 = 256; at < 2048; at++) {
    const before = load<u32>(CRC_TABLES + ((at - 256) << 2));
    store<u32>(CRC_TABLES + (at << 2), (before >> 8) ^ table(0, before));
  }
}

/** CRC-32 as PNG and zlib have it, eight bytes at a time. */
export function crc32(from: usize, length: i32): u32 {
  if (!crcReady) prepareCrc();
  let crc: u32 = 0xffffffff;
  let at = from;
  const end = from + length;
  for (; at + 8 <= end; at += 8) {
    const low = load<u32>(at) ^ crc;
    const high = load<u32>(at, 4);
    crc =
      table(7, low) ^
      table(6, low >> 8) ^
      table(5, low >> 16) ^
      table(4, low >> 24) ^
      table(3, high) ^
      table(2, high >> 8) ^
      table(1, high >> 16) ^
      table(0, high >> 24);
  }
  for (; at < end; at++) crc = (crc >> 8) ^ table(0, crc ^ load<u8>(at));
  return ~crc;
}

export function adler32(from: usize, length: i32): u32 {
  let low: u32 = 1;
  let high: u32 = 0;
  let at = from;
  const end = from + length;
  while (at < end) {
    const stop = min(at + ADLER_STRETCH, end);
    for (; at + 16 <= stop; at += 16) {
      const bytes = v128.load(at);
      high += (low << 4) + weighted(bytes);
      low += total(bytes);
    }
    for (; at < stop; at++) {
      low += load<u8>(at);
      high += low;
    }
    low %= ADLER_BASE;
    high %= ADLER_BASE;
  }
  return (high << 16) | low;
}

function total(bytes: v128): u32 {
  return sumOfLanes(i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(bytes)));
}

/** The first byte counts sixteen times, the last once. */
function weighted(bytes: v128): u32 {
  const first = i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(bytes), i16x8(16, 15, 14, 13, 12, 11, 10, 9));
  const second = i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_u(bytes), i16x8(8, 7, 6, 5, 4, 3, 2, 1));
  return sumOfLanes(i32x4.add(first, second));
}

function sumOfLanes(lanes: v128): u32 {
  return (
    i32x4.extract_lane(lanes, 0) +
    i32x4.extract_lane(lanes, 1) +
    i32x4.extract_lane(lanes, 2) +
    i32x4.extract_lane(lanes, 3)
  );
}
