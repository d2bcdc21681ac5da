import { type FileHandle, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hasCode } from '../lib/error-code.ts';
import type { AuditLines } from './audit-table.ts';

interface AuditFileOptions {
  readonly path: string;
  /** Bytes after which a new file is begun. */
  readonly maxBytes: number;
  /** How many full files are kept beside the current one, as `.1` (the latest), `.2` and so on. */
  readonly keep: number;
}

const OWNER_AND_GROUP = 0o640;
const NEWLINE = 0x0a;
/** Enough for some hundred changes. */
const RESERVED_BYTES = 256 * 1024;
/** Bytes read at a time, from the end on. */
const PIECE = 256 * 1024;

/** The file at the end of which lines are put. One caller at a time. */
export class AuditFile implements AuditLines {
  readonly #options: AuditFileOptions;
  #handle: FileHandle | null = null;
  #reserved = false;

  constructor(options: AuditFileOptions) {
    this.#options = options;
  }

  /** A full disk gets back the room that was kept for this. */
  async append(lines: readonly string[]): Promise<void> {
    const text = lines.join('');
    try {
      await this.#write(text);
      await this.prepare();
    } catch (error) {
      await this.close();
      if (!hasCode(error, 'ENOSPC', 'EDQUOT') || !(await this.#giveUpReserve())) throw error;
      await this.#write(text);
    }
  }

  async #write(text: string): Promise<void> {
    const handle = await this.#current();
    await handle.appendFile(text);
    await handle.datasync();
  }

  /** Takes room ahead, if there is some: who truncates a layer because the disk is full is to find the log writable. */
  async prepare(): Promise<void> {
    if (this.#reserved) return;
    const room = Buffer.alloc(RESERVED_BYTES, '\n');
    const taken = writeFile(this.#reserve, room, { mode: OWNER_AND_GROUP }).then(() => true);
    this.#reserved = await taken.catch(() => false);
  }

  /** False when there is none. */
  async #giveUpReserve(): Promise<boolean> {
    this.#reserved = false;
    const given = await rm(this.#reserve).then(() => true, ignoreAbsence);
    return given !== null;
  }

  get #reserve(): string {
    return `${this.#options.path}.reserve`;
  }

  async *latestFirst(): AsyncGenerator<string> {
    const { path, keep } = this.#options;
    for (let number = 0; number <= keep; number++) {
      const file = await open(number === 0 ? path : `${path}.${number}`).catch(ignoreAbsence);
      if (file) yield* linesFromEnd(file);
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close();
  }

  async #current(): Promise<FileHandle> {
    if (this.#handle && !(await this.#isInPlace(this.#handle))) await this.close();
    this.#handle ??= await openForAppending(this.#options.path);
    if ((await this.#handle.stat()).size < this.#options.maxBytes) return this.#handle;
    await this.close();
    await this.#shift();
    this.#handle = await openForAppending(this.#options.path);
    return this.#handle;
  }

  /** Somebody else may have moved the file away, to keep it elsewhere. */
  async #isInPlace(handle: FileHandle): Promise<boolean> {
    const there = await stat(this.#options.path).catch(ignoreAbsence);
    const here = await handle.stat();
    return there !== null && there.ino === here.ino && there.dev === here.dev;
  }

  async #shift(): Promise<void> {
    const { path, keep } = this.#options;
    for (let number = keep; number > 1; number--) {
      await rename(`${path}.${number - 1}`, `${path}.${number}`).catch(ignoreAbsence);
    }
    await rename(path, `${path}.1`);
  }
}

async function openForAppending(path: string): Promise<FileHandle> {
  const handle = await open(path, 'a+', OWNER_AND_GROUP);
  try {
    await endTornLine(handle);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** What a crash or a full disk has cut off stays behind as a line of its own. */
async function endTornLine(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  if (size === 0) return;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  if (bytesRead === 1 && buffer[0] !== NEWLINE) await handle.appendFile('\n');
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
      // What stands before the first end of a line began in the piece before.
      const begun = start === 0 ? 0 : piece.indexOf(NEWLINE) + 1 || piece.length;
      yield* piece.toString('utf8', begun).split('\n').reverse();
      rest = piece.subarray(0, begun);
      end = start;
    }
  } finally {
    await file.close();
  }
}
