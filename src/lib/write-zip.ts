import { crc32, deflateRawSync } from 'node:zlib';

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_CENTRAL = 0x06054b50;
/** 2.0: deflate. */
const VERSION = 20;
const UTF8_NAMES = 0x0800;
const DEFLATE = 8;
/** 1980-01-01, the first day a ZIP file knows: the same content makes the same file. */
const DATE = 0x0021;

/** A ZIP file of one entry. PKWARE's APPNOTE 4.3. */
export function writeZip(name: string, content: Buffer): Buffer {
  const path = Buffer.from(name);
  const packed = deflateRawSync(content);
  const entry = Buffer.concat([
    shorts(VERSION, UTF8_NAMES, DEFLATE, 0, DATE),
    longs(crc32(content), packed.length, content.length),
    shorts(path.length, 0),
  ]);
  const local = Buffer.concat([longs(LOCAL_HEADER), entry, path, packed]);
  // No comment, first disk, no attributes, at the very start.
  const central = Buffer.concat([longs(CENTRAL_HEADER), shorts(VERSION), entry, Buffer.alloc(14), path]);
  const end = [longs(END_OF_CENTRAL), shorts(0, 0, 1, 1), longs(central.length, local.length), shorts(0)];
  return Buffer.concat([local, central, ...end]);
}

/** Numbers of two bytes each, the lowest first. */
function shorts(...values: readonly number[]): Buffer {
  return Buffer.from(values.flatMap((value) => [value & 0xff, value >>> 8]));
}

function longs(...values: readonly number[]): Buffer {
  return shorts(...values.flatMap((value) => [value & 0xffff, value >>> 16]));
}
