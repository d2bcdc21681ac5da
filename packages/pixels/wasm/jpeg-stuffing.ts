/** First byte of a marker. Within the data of a scan, a stuffed zero follows it (ITU-T T.81, B.1.1.5). */
const MARKER: u8 = 0xff;

/** Removes the zeros behind 0xff from a scan, in place; returns its new length, or -1 if it contains a marker. */
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

/** Copies a scan with a zero behind each 0xff and appends the end marker; returns the end. Needs twice `length` + 18 bytes. */
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
