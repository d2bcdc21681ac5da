// Writes a stream of bits; those that do not fill a byte yet are in `held`.

/** Where the next whole byte goes. */
let at: usize = 0;
let held: u64 = 0;
let heldBits: u64 = 0;

export function startBits(to: usize): void {
  at = to;
  held = 0;
  heldBits = 0;
}

/** The state, for a hot loop that keeps it in local variables, which are faster, and returns it with `resumeBits`. */
export function bitsTo(): usize {
  return at;
}

export function bitsHeld(): u64 {
  return held;
}

export function countHeld(): u64 {
  return heldBits;
}

export function resumeBits(to: usize, bits: u64, count: u64): void {
  at = to;
  held = bits;
  heldBits = count;
}

/** Lowest bit first (RFC 1951, 3.1.1). At most 56 bits between two calls of `flushBits`. */
export function putBits(value: u32, bits: u32): void {
  held |= (value as u64) << heldBits;
  heldBits += bits;
}

/** Writes the whole bytes, and overwrites up to eight bytes behind them. */
export function flushBits(): void {
  store<u64>(at, held);
  const whole = heldBits >> 3;
  at += whole as usize;
  held >>= whole << 3;
  heldBits &= 7;
}

/** Pads the last byte with zeros; returns the end of the stream. */
export function endBits(): usize {
  flushBits();
  if (heldBits > 0) at++;
  return at;
}
