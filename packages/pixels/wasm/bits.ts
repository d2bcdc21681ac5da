/** Where the next whole byte goes. */
let at: usize = 0;
let held: u64 = 0;
let heldBits: u64 = 0;

export function startBits(to: usize): void {
  at = to;
  held = 0;
  heldBits = 0;
}

/** A loop that writes much takes these into variables of its own, which are faster, and gives them back with `goOn`. */
export function bitsTo(): usize {
  return at;
}

export function bitsHeld(): u64 {
  return held;
}

export function countHeld(): u64 {
  return heldBits;
}

export function goOn(to: usize, bits: u64, count: u64): void {
  at = to;
  held = bits;
  heldBits = count;
}

/** The lowest bit first, as RFC 1951 has it. At most 56 bits between two calls of `flushBits`. */
export function putBits(value: u32, bits: u32): void {
  held |= (value as u64) << heldBits;
  heldBits += bits;
}

/** Writes up to seven bytes beyond what is whole. */
export function flushBits(): void {
  store<u64>(at, held);
  const whole = heldBits >> 3;
  at += whole as usize;
  held >>= whole << 3;
  heldBits &= 7;
}

/** Fills up the last byte; returns where the next one goes. */
export function endBits(): usize {
  flushBits();
  if (heldBits > 0) at++;
  return at;
}
