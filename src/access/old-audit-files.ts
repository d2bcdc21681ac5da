import { type FileHandle, open } from 'node:fs/promises';
import { hasCode } from '../lib/error-code.ts';

/** Version 0.2 kept `audit.log`, and eight full ones as `audit.log.1` (the latest), `.2` and so on. */
const FULL_FILES = 8;
const NEWLINE = 0x0a;
/** Bytes read at a time, from the end on. */
const PIECE = 256 * 1024;

/** Lines that version 0.2 wrote into files, the latest first. */
export async function* oldAuditLines(path: string): AsyncGenerator<string> {
  for (let number = 0; number <= FULL_FILES; number++) {
    const file = await open(number === 0 ? path : `${path}.${number}`).catch(ignoreAbsence);
    if (file) yield* linesFromEnd(file);
  }
}

function ignoreAbsence(error: unknown): null {
  if (hasCode(error, 'ENOENT')) return null;
  throw error;
}

/** Closes the file. */
async function* linesFromEnd(file: FileHandle): AsyncGenerator<string> {
  try {
    let rest = Buffer.alloc(0);
    for (let end = (await file.stat()).size; end > 0; ) {
      const start = Math.max(0, end - PIECE);
      const { buffer } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
      const piece = Buffer.concat([buffer, rest]);
      // The line before the first newline began in the piece before.
      const begun = start === 0 ? 0 : piece.indexOf(NEWLINE) + 1 || piece.length;
      yield* piece.toString('utf8', begun).split('\n').reverse();
      rest = piece.subarray(0, begun);
      end = start;
    }
  } finally {
    await file.close();
  }
}
