/** A marker begins with this byte; within the data of a scan a zero follows it. */
const MARKER: u32 = 0xff;

/** Where the next byte is read. */
let from: usize = 0;
let bits: u64 = 0;
let have: i32 = 0;
/** Of the bits at hand, those that are not in the file: there is a marker. */
let padded: i32 = 0;

/**
 * A loop that reads or writes much takes these into variables of its own, which are faster, and gives them back before
 * anything else is called.
 */
export function readingFrom(): usize {
  return from;
}

export function bitsAtHand(): u64 {
  return bits;
}

export function bitsLeft(): i32 {
  return have;
}

export function goOnReading(at: usize, atHand: u64, left: i32): void {
  from = at;
  bits = atHand;
  have = left;
}

export function startReading(at: usize): void {
  from = at;
  bits = 0;
  have = 0;
  padded = 0;
}

/** Afterwards more than 32 bits are at hand. */
export function fill(): void {
  if (have > 32) return;
  const word = load<u32>(from);
  if (hasMarker(word)) {
    fillSlowly();
    return;
  }
  bits = (bits << 32) | bswap(word);
  have += 32;
  from += 4;
}

export function hasMarker(word: u32): bool {
  return ((~word - 0x01010101) & word & 0x80808080) !== 0;
}

export function fillSlowly(): void {
  while (have <= 32) {
    let byte = <u32>load<u8>(from);
    if (byte !== MARKER) from++;
    else if (load<u8>(from, 1) === 0) from += 2;
    else {
      byte = 0;
      padded += 8;
    }
    bits = (bits << 8) | byte;
    have += 8;
  }
}

export function peek16(): u32 {
  return <u32>(bits >> <u64>(have - 16)) & 0xffff;
}

export function skip(count: i32): void {
  have -= count;
}

/** ITU-T T.81, F.2.2.1: the upper half of the numbers of a size is positive. */
export function takeNumber(size: i32): i32 {
  have -= size;
  const value = <i32>(<u32>(bits >> <u64>have) & ((1 << size) - 1));
  return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

/** Whether all has been read up to `end`, and nothing beyond: less than a byte may be left. */
export function isReadUpTo(end: usize): bool {
  const left = have - padded + ((<i32>(end - from)) << 3);
  return padded <= have && left < 8;
}

let to: usize = 0;
let held: u64 = 0;
let heldBits: i32 = 0;

export function startWriting(at: usize): void {
  to = at;
  held = 0;
  heldBits = 0;
}

export function writtenTo(): usize {
  return to;
}

export function bitsHeld(): u64 {
  return held;
}

export function countHeld(): i32 {
  return heldBits;
}

export function setWriting(at: usize, bitsOf: u64, count: i32): void {
  to = at;
  held = bitsOf;
  heldBits = count;
}

/** Several files are written in turn: one is left, and taken up again later. 16 bytes. */
export function leaveWriting(state: usize): void {
  store<u64>(state, held);
  store<i32>(state, heldBits, 8);
  store<u32>(state, <u32>to, 12);
}

export function goOnWriting(state: usize): void {
  held = load<u64>(state);
  heldBits = load<i32>(state, 8);
  to = load<u32>(state, 12);
}

/** The highest bit first; up to 27 of them. */
export function put(value: u32, count: i32): void {
  held = (held << count) | value;
  heldBits += count;
  if (heldBits >= 32) putWord();
}

export function putWord(): void {
  heldBits -= 32;
  const word = <u32>(held >> <u64>heldBits);
  if (!hasMarker(word)) {
    store<u32>(to, bswap(word));
    to += 4;
    return;
  }
  for (let shift = 24; shift >= 0; shift -= 8) putByte((word >> shift) & 0xff);
}

function putByte(byte: u32): void {
  store<u8>(to++, <u8>byte);
  if (byte === MARKER) store<u8>(to++, 0);
}

/** Fills up the last byte with ones, and ends the file; returns where. */
export function endWriting(): usize {
  if ((heldBits & 7) !== 0) put((1 << (8 - (heldBits & 7))) - 1, 8 - (heldBits & 7));
  while (heldBits > 0) {
    heldBits -= 8;
    putByte(<u32>(held >> <u64>heldBits) & 0xff);
  }
  store<u16>(to, 0xd9ff);
  return to + 2;
}
