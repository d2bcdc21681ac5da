/** Bytes that Adler-32 (RFC 1950) sums before each modulo: 256 in each of 16 columns, so a column's sum fits 16 bits. */
const ADLER_STRETCH: i32 = 4096;
const COLUMNS: usize = memory.data(16, 16);
const ADLER_BASE: u32 = 65521;
/** Eight tables of 256 words: the CRC of a byte followed by zero to seven zero bytes. */
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

/** CRC-32 as in PNG, eight bytes at a time. */
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
    const start = at;
    // `high` gains the sum before the stretch once for each byte, and each byte once for itself and each byte behind it.
    let sums = i64x2.splat(0);
    let before = sums;
    let firstHalf = sums;
    let secondHalf = sums;
    for (; at + 16 <= stop; at += 16) {
      const bytes = v128.load(at);
      before = i32x4.add(before, sums);
      sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(bytes)));
      firstHalf = i16x8.add(firstHalf, i16x8.extend_low_i8x16_u(bytes));
      secondHalf = i16x8.add(secondHalf, i16x8.extend_high_i8x16_u(bytes));
    }
    high +=
      <u32>(at - start) * low + (sumOfLanes(before) << 4) + weighted(firstHalf, 16) + weighted(secondHalf, 8);
    low += sumOfLanes(sums);
    for (; at < stop; at++) {
      low += load<u8>(at);
      high += low;
    }
    low %= ADLER_BASE;
    high %= ADLER_BASE;
  }
  return (high << 16) | low;
}

/** The weighted total of eight sums of 16 bits: the first times `most`, each next one times one less. */
function weighted(sums: v128, most: u32): u32 {
  v128.store(COLUMNS, sums);
  let sum: u32 = 0;
  for (let i: u32 = 0; i < 8; i++) sum += <u32>load<u16>(COLUMNS + (i << 1)) * (most - i);
  return sum;
}

export function sumOfLanes(lanes: v128): u32 {
  return (
    i32x4.extract_lane(lanes, 0) +
    i32x4.extract_lane(lanes, 1) +
    i32x4.extract_lane(lanes, 2) +
    i32x4.extract_lane(lanes, 3)
  );
}
