const FACTOR: u64 = ((<u64>0x9e3779b9) << 32) | 0x7f4a7c15;
const OTHER_FACTOR: u64 = ((<u64>0xc2b2ae3d) << 32) | 0x27d4eb4f;

/** Four independent sums, so that their multiplications overlap in the processor. */
let a: u64 = 0;
let b: u64 = 0;
let c: u64 = 0;
let d: u64 = 0;

/** Starts a hash of 128 bits that identifies equal bytes; not collision-resistant against an attacker. */
export function startFingerprint(): void {
  a = 1;
  b = 2;
  c = 3;
  d = 4;
}

/** Reads up to 7 bytes beyond `length`, which do not count. */
export function addToFingerprint(from: usize, length: i32): void {
  let at = from;
  const end = from + (length & ~31);
  for (; at < end; at += 32) {
    a = mixed(a, load<u64>(at));
    b = mixed(b, load<u64>(at, 8));
    c = mixed(c, load<u64>(at, 16));
    d = mixed(d, load<u64>(at, 24));
  }
  for (let left = length & 31; left > 0; left -= 8) {
    const word = load<u64>(at);
    a = mixed(a, left >= 8 ? word : word & (((<u64>1) << (left << 3)) - 1));
    at += 8;
  }
  b = mixed(b, length);
}

function mixed(sum: u64, word: u64): u64 {
  return rotl((sum ^ word) * FACTOR, 29);
}

export function firstHalf(): u64 {
  return mixed(mixed(a, b), mixed(c, d));
}

export function secondHalf(): u64 {
  return (rotl(a, 17) + b * OTHER_FACTOR) ^ (rotl(c, 41) * OTHER_FACTOR + d);
}
