/**
 * Goes through the fields of a protobuf message: `accept` has the content of those with a length, null for numbers. False
 * when one is refused, or the message does not end with its last field.
 */
export function readFields(
  message: Buffer,
  accept: (field: number, content: Buffer | null) => boolean,
): boolean {
  let at = 0;
  while (at < message.length) {
    const tag = readVarint(message, at);
    if (!tag) return false;
    const end = endOfField(message, tag.value % 8, tag.next);
    if (end === null || end.at > message.length) return false;
    const content = end.from === null ? null : message.subarray(end.from, end.at);
    if (!accept(Math.floor(tag.value / 8), content)) return false;
    at = end.at;
  }
  return true;
}

function endOfField(message: Buffer, wireType: number, at: number) {
  if (wireType === 1) return { at: at + 8, from: null };
  if (wireType === 5) return { at: at + 4, from: null };
  const number = wireType === 0 || wireType === 2 ? readVarint(message, at) : null;
  if (!number) return null;
  return wireType === 0
    ? { at: number.next, from: null }
    : { at: number.next + number.value, from: number.next };
}

/** The numbers of a packed repeated field, as far as they are whole. */
export function* readPacked(content: Buffer): Generator<number> {
  let number = readVarint(content, 0);
  while (number) {
    yield number.value;
    number = readVarint(content, number.next);
  }
}

function readVarint(message: Buffer, from: number): { readonly value: number; readonly next: number } | null {
  let value = 0;
  for (let i = 0; i < 10; i++) {
    const byte = message[from + i];
    if (byte === undefined) return null;
    value += (byte % 128) * 2 ** (7 * i);
    if (byte < 128) return { value, next: from + i + 1 };
  }
  return null;
}
