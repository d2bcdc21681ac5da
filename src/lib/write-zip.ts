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
  const common = entryFields(path, content, packed);
  const local = Buffer.concat([uint32(LOCAL_HEADER), uint16(VERSION), common, path, packed]);
  const central = Buffer.concat([
    uint32(CENTRAL_HEADER),
    uint16(VERSION),
    uint16(VERSION),
    common,
    // No comment, first disk, no attributes, at the very start.
    Buffer.alloc(14),
    path,
  ]);
  const end = Buffer.concat([
    uint32(END_OF_CENTRAL),
    Buffer.alloc(4),
    uint16(1),
    uint16(1),
    uint32(central.length),
    uint32(local.length),
    uint16(0),
  ]);
  return Buffer.concat([local, central, end]);
}

function entryFields(path: Buffer, content: Buffer, packed: Buffer): Buffer {
  return Buffer.concat([
    uint16(UTF8_NAMES),
    uint16(DEFLATE),
    uint16(0),
    uint16(DATE),
    uint32(crc32(content)),
    uint32(packed.length),
    uint32(content.length),
    uint16(path.length),
    uint16(0),
  ]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
