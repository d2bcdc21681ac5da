/** ITU-T T.81, annex K.1: steps for luma and chroma at quality 50, row by row. */
const LUMA_STEPS = [
  16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22,
  29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103,
  121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];
const CHROMA_STEPS = [
  17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99,
  99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
  99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
];
/** Figure A.6: the place in its block of each number in the order of the file. */
const ORDER = [
  0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46,
  53, 60, 61, 54, 47, 55, 62, 63,
];

/** Annex K.3: how many codes there are of 1 to 16 bits, then their symbols. Luma, chroma; then for the other numbers. */
export const USUAL_CODES: readonly Uint8Array[] = [
  '00010501010101010100000000000000000102030405060708090a0b',
  '00030101010101010101010000000000000102030405060708090a0b',
  '0002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa',
  '00020102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa',
].map((hex) => Buffer.from(hex, 'hex'));

/** In the order of the file, as the common encoders have them for a quality from 50 to 100. */
export function stepsOfQuality(quality: number): [Uint8Array, Uint8Array] {
  const scale = 200 - 2 * quality;
  const stepsOf = (base: readonly number[]) =>
    Uint8Array.from(ORDER, (place) => Math.max(1, Math.floor(((base[place] ?? 0) * scale + 50) / 100)));
  return [stepsOf(LUMA_STEPS), stepsOf(CHROMA_STEPS)];
}

/** All that comes before the data of the scan. */
export function jpegHead(
  width: number,
  height: number,
  [luma, chroma]: readonly [Uint8Array, Uint8Array],
): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt16BE(height, 0);
  size.writeUInt16BE(width, 2);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    // JFIF 1.01, pixels without a size, no thumbnail.
    segment(0xe0, Buffer.from('4a46494600010100000100010000', 'hex')),
    segment(0xdb, [0, ...luma]),
    segment(0xdb, [1, ...chroma]),
    segment(0xc0, [8, ...size, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]),
    ...[0x00, 0x01, 0x10, 0x11].map((id, i) => segment(0xc4, [id, ...(USUAL_CODES[i] ?? [])])),
    segment(0xda, [3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0]),
  ]);
}

function segment(kind: number, content: Iterable<number>): Buffer {
  const bytes = Buffer.from([...content]);
  const head = Buffer.from([0xff, kind, 0, 0]);
  head.writeUInt16BE(bytes.length + 2, 2);
  return Buffer.concat([head, bytes]);
}
