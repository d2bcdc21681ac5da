/** A marker begins with this byte; within the data of a scan a zero follows it. */
const MARKER: u8 = 0xff;

/** Takes the zeros behind 0xff out of a scan, in place; returns its length then, or -1 where there is a marker. */
export function takeStuffingOut(scan: usize, length: i32): i32 {
  const marker = i8x16.splat(<i8>MARKER);
  const end = scan + length;
  let to = scan;
  let at = scan;
  while (at < end) {
    const bytes = v128.load(at);
    if (at + 16 <= end && !v128.any_true(i8x16.eq(bytes, marker))) {
      v128.store(to, bytes);
      at += 16;
      to += 16;
      continue;
    }
    const stop = min(at + 16, end);
    while (at < stop) {
      const byte = load<u8>(at++);
      store<u8>(to++, byte);
      if (byte !== MARKER) continue;
      if (at >= end || load<u8>(at++) !== 0) return -1;
    }
  }
  return <i32>(to - scan);
}

/** Copies a scan with a zero behind each 0xff, and ends the file; returns where. Up to twice as long, and 18 bytes. */
export function copyStuffed(scan: usize, length: i32, to: usize): usize {
  const marker = i8x16.splat(<i8>MARKER);
  const end = scan + length;
  let at = scan;
  while (at < end) {
    const bytes = v128.load(at);
    if (at + 16 <= end && !v128.any_true(i8x16.eq(bytes, marker))) {
      v128.store(to, bytes);
      at += 16;
      to += 16;
      continue;
    }
    const stop = min(at + 16, end);
    for (; at < stop; at++) {
      const byte = load<u8>(at);
      store<u8>(to++, byte);
      if (byte === MARKER) store<u8>(to++, 0);
    }
  }
  store<u16>(to, 0xd9ff);
  return to + 2;
}
