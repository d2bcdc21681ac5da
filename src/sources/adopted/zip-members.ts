/**
 * The directory of a ZIP file (PKWARE's APPNOTE 4.3), also of more than 4 GiB. Stored members are read where they are:
 * nothing is unpacked, and a name in the directory is never a path.
 */
import { TilewardenError } from '../../domain/errors.ts';
import { createPace } from '../../lib/yielding.ts';
import type { OpenedFile } from './rooted-folder.ts';

export interface ZipMember {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Offset of the header before its bytes. */
  readonly offset: number;
  /** Neither compressed nor encrypted. */
  readonly isStored: boolean;
}

const MAX_MEMBERS = 200_000;
const MAX_DIRECTORY_BYTES = 32 * 1024 ** 2;
const MEMBERS_PER_TURN = 2000;

const [END, LOCATOR, WIDE_END] = [0x06054b50, 0x07064b50, 0x06064b50];
const [ENTRY, HEADER] = [0x02014b50, 0x04034b50];
const BYTES = { end: 22, locator: 20, wideEnd: 56, entry: 46, header: 30 };
/** A comment may follow the end. */
const MAX_COMMENT_BYTES = 0xffff;
/** The extra field for values that do not fit into four bytes, which are `WIDE` then. */
const WIDE_FIELD = 1;
const WIDE = 0xffffffff;
const ENCRYPTED = 1;

/** Throws `store-failed` for a damaged or too large directory. */
export async function readZipDirectory(zip: OpenedFile): Promise<readonly ZipMember[]> {
  const { offset, bytes, count } = await findDirectory(zip);
  if (count > MAX_MEMBERS || bytes > MAX_DIRECTORY_BYTES) {
    const limits = `at most ${MAX_MEMBERS} members, ${MAX_DIRECTORY_BYTES} bytes`;
    throw unusablePackage(`has a directory of ${count} members, ${bytes} bytes; ${limits}`);
  }
  const directory = await zipPart(zip, offset, bytes);
  const pace = createPace(MEMBERS_PER_TURN);
  const members: ZipMember[] = [];
  for (let at = 0; members.length < count; ) {
    const { member, end } = memberAt(directory, at);
    members.push(member);
    at = end;
    await pace(1);
  }
  return members;
}

/** A stored member as a file. Throws `store-failed` if it is not where the directory says. */
export async function openMember(zip: OpenedFile, { offset, size }: ZipMember): Promise<OpenedFile> {
  const header = await zipPart(zip, offset, BYTES.header);
  const start = offset + BYTES.header + header.readUInt16LE(26) + header.readUInt16LE(28);
  if (header.readUInt32LE(0) !== HEADER || start + size > zip.size) throw damaged();
  return {
    size,
    changedAt: zip.changedAt,
    part: async (from, length) => (from + length > size ? null : zip.part(start + from, length)),
  };
}

export function unusablePackage(what: string): TilewardenError {
  return new TilewardenError('store-failed', `The tile package ${what}.`);
}

function damaged(): TilewardenError {
  return unusablePackage('is not a ZIP file, or is damaged');
}

async function findDirectory(zip: OpenedFile) {
  const length = Math.min(zip.size, BYTES.end + MAX_COMMENT_BYTES);
  const tail = await zipPart(zip, zip.size - length, length);
  let at = length - BYTES.end;
  while (at >= 0 && !isEnd(tail, at)) at--;
  if (at < 0) throw damaged();
  const count = tail.readUInt16LE(at + 10);
  const [bytes, offset] = [tail.readUInt32LE(at + 12), tail.readUInt32LE(at + 16)];
  if (count !== 0xffff && bytes !== WIDE && offset !== WIDE) return { offset, bytes, count };
  const locator = await zipPart(zip, zip.size - length + at - BYTES.locator, BYTES.locator);
  if (locator.readUInt32LE(0) !== LOCATOR) throw damaged();
  const end = await zipPart(zip, wideAt(locator, 8), BYTES.wideEnd);
  if (end.readUInt32LE(0) !== WIDE_END) throw damaged();
  return { offset: wideAt(end, 48), bytes: wideAt(end, 40), count: wideAt(end, 32) };
}

/** The comment reaches to the end of the file: a signature inside a comment does not count. */
function isEnd(tail: Buffer, at: number): boolean {
  return tail.readUInt32LE(at) === END && at + BYTES.end + tail.readUInt16LE(at + 20) === tail.length;
}

function memberAt(directory: Buffer, at: number): { readonly member: ZipMember; readonly end: number } {
  if (at + BYTES.entry > directory.length || directory.readUInt32LE(at) !== ENTRY) throw damaged();
  const nameEnd = at + BYTES.entry + directory.readUInt16LE(at + 28);
  const extraEnd = nameEnd + directory.readUInt16LE(at + 30);
  const end = extraEnd + directory.readUInt16LE(at + 32);
  if (end > directory.length) throw damaged();
  const extra = directory.subarray(nameEnd, extraEnd);
  const narrow = [24, 20, 42].map((field) => directory.readUInt32LE(at + field));
  const [size = 0, packed = 0, offset = 0] = widened(narrow, extra);
  const isPlain = directory.readUInt16LE(at + 10) === 0 && (directory.readUInt16LE(at + 8) & ENCRYPTED) === 0;
  const name = directory.toString('utf8', at + BYTES.entry, nameEnd);
  return { member: { name, size, offset, isStored: isPlain && size === packed }, end };
}

/** Replaces each `WIDE` by the next value of the extra field, which has only those, in this order. */
function widened(narrow: readonly number[], extra: Buffer): readonly number[] {
  let at = 0;
  while (at + 4 <= extra.length && extra.readUInt16LE(at) !== WIDE_FIELD)
    at += 4 + extra.readUInt16LE(at + 2);
  let next = at + 4;
  return narrow.map((value) => {
    if (value !== WIDE) return value;
    if (next + 8 > extra.length) throw damaged();
    next += 8;
    return wideAt(extra, next - 8);
  });
}

function wideAt(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at));
}

/** The file's own offsets are trusted only after a comparison with its size. */
async function zipPart(zip: OpenedFile, offset: number, length: number): Promise<Buffer> {
  const bytes = offset < 0 || offset + length > zip.size ? null : await zip.part(offset, length);
  if (!bytes) throw damaged();
  return bytes;
}
