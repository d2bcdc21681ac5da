/** Whether the bytes begin as gzip does: RFC 1952, 2.3.1. */
export function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}
